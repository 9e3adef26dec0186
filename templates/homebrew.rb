class Buddy < Formula
  desc "Terminal agent for people who run machines"
  homepage "@HOMEPAGE@"
  version "@VERSION@"
  license "MIT"

  on_macos do
    on_arm do
      url "@BASE@/buddy-@VERSION@-darwin-arm64.tar.gz"
      sha256 "@SHA256:buddy-@VERSION@-darwin-arm64.tar.gz@"
    end
    on_intel do
      url "@BASE@/buddy-@VERSION@-darwin-x64.tar.gz"
      sha256 "@SHA256:buddy-@VERSION@-darwin-x64.tar.gz@"
    end
  end

  on_linux do
    on_arm do
      url "@BASE@/buddy-@VERSION@-linux-arm64.tar.gz"
      sha256 "@SHA256:buddy-@VERSION@-linux-arm64.tar.gz@"
    end
    on_intel do
      url "@BASE@/buddy-@VERSION@-linux-x64.tar.gz"
      sha256 "@SHA256:buddy-@VERSION@-linux-x64.tar.gz@"
    end
  end

  depends_on "tmux" => :recommended

  def install
    bin.install "buddy"
    man1.install "buddy.1"
    bash_completion.install "completions/buddy.bash" => "buddy"
    zsh_completion.install "completions/_buddy"
    fish_completion.install "completions/buddy.fish"
  end

  test do
    assert_match "buddy #{version}", shell_output("#{bin}/buddy --version")
  end
end
