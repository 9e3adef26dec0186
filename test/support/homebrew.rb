# A stand-in for Homebrew: reads a formula, unpacks, installs and tests as Homebrew does.
# Usage: ruby homebrew.rb FORMULA DIRECTORY-WITH-DOWNLOADS PREFIX SYSTEM CPU
require "digest"
require "fileutils"
require "pathname"
require "tmpdir"

formula_path, downloads, prefix, SYSTEM, CPU = ARGV
PREFIX = Pathname.new(prefix)

class Pathname
  # As Homebrew: a file or a directory is moved, with a new name where one is given; programs become executable.
  def install(*sources)
    sources.each do |source|
      (source.is_a?(Hash) ? source : { source => File.basename(source) }).each do |from, to|
        mkpath
        raise "#{from} does not exist" unless File.exist?(from)
        FileUtils.mv(from.to_s, (self/to).to_s)
        FileUtils.chmod(basename.to_s == "bin" ? 0o555 : 0o444, (self/to).to_s)
      end
    end
  end
end

class Formula
  class << self
    attr_reader :the_url, :the_sum, :the_test
    def desc(*) = nil
    def license(*) = nil
    def depends_on(*) = nil
    def homepage(text = nil) = text
    def version(text = nil) = (@version = text || @version)
    def url(text) = @the_url = text
    def sha256(text) = @the_sum = text
    def on_macos = (yield if SYSTEM == "darwin")
    def on_linux = (yield if SYSTEM == "linux")
    def on_arm = (yield if CPU == "arm64")
    def on_intel = (yield if CPU == "x64")
    def test(&block) = @the_test = block
  end

  def version = self.class.version
  def bin = PREFIX/"bin"
  def man1 = PREFIX/"share/man/man1"
  def bash_completion = PREFIX/"etc/bash_completion.d"
  def zsh_completion = PREFIX/"share/zsh/site-functions"
  def fish_completion = PREFIX/"share/fish/vendor_completions.d"
  def shell_output(command) = `#{command}`.tap { raise "#{command} failed" unless $?.success? }
  def assert_match(wanted, text) = (raise "#{text.inspect} does not hold #{wanted.inspect}" unless text.include?(wanted))
end

load formula_path
archive = File.join(downloads, File.basename(Buddy.the_url))
raise "the sum of #{archive} is wrong" unless Digest::SHA256.file(archive).hexdigest == Buddy.the_sum

Dir.mktmpdir do |stage|
  system("tar", "-xf", archive, "-C", stage) || raise("cannot unpack #{archive}")
  # A single directory in an archive is entered.
  entries = Dir.children(stage)
  inside = entries.length == 1 && File.directory?(File.join(stage, entries[0])) ? File.join(stage, entries[0]) : stage
  Dir.chdir(inside) { Buddy.new.install }
end
Buddy.new.instance_eval(&Buddy.the_test)
puts "ok"
