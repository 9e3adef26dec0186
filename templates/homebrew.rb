class Buddy < Formula
  desc "Terminal agent for people who run machines"
  homepage "https://github.com/buddy-terminal/buddy"
  version "@VERSION@"
  license "MIT"

  on_macos do
    on_arm do
      url "@BASE@/buddy-darwin-arm64.gz"
      sha256 "@SHA256:buddy-darwin-arm64.gz@"
    end
    on_intel do
      url "@BASE@/buddy-darwin-x64.gz"
      sha256 "@SHA256:buddy-darwin-x64.gz@"
    end
  end

  on_linux do
    on_arm do
      url "@BASE@/buddy-linux-arm64.gz"
      sha256 "@SHA256:buddy-linux-arm64.gz@"
    end
    on_intel do
      url "@BASE@/buddy-linux-x64.gz"
      sha256 "@SHA256:buddy-linux-x64.gz@"
    end
  end

  depends_on "tmux" => :recommended

  def install
    bin.install Dir["buddy-*"].first => "buddy"
    generate_completions_from_executable(bin/"buddy", "completion")
  end

  test do
    assert_match "buddy #{version}", shell_output("#{bin}/buddy --version")
  end
end
