import ArgumentParser
import Glibc
import LinuxIO
import NetworkTypes
import Terminal

/// A program that sees nothing of this machine's network (`roamward run --isolated`): its link leads to `pasta`, whose sockets have the
/// route of the program. `pasta` runs as the same user, outside of the namespace, and ends with it.
struct IsolatedProgram {
  /// The addresses on the link. Nobody else sees them: packets get those of the tunnel.
  private static let (address, gateway) = ("198.18.0.2", "198.18.0.1")
  private static let (address6, gateway6) = ("fd52::2", "fe80::1")
  /// The caller, as the first process in the namespace is told.
  private static let separator = ":"

  let path: String
  let arguments: [String]
  let link: String

  /// Finds what it takes, before anything begins. Root has no namespace of users to be root in.
  static func check() throws {
    guard geteuid() != 0 else {
      throw Failure.refused("a program of root is not isolated: `pasta` does not run as root; run the command as an ordinary user")
    }
    guard executablePath("pasta") != nil else {
      throw Failure.refused("--isolated needs `pasta`, which is not installed; cure: apt install passt")
    }
  }

  /// Runs it, and returns its exit status.
  func run() throws -> Int32 {
    guard let pasta = executablePath("pasta") else { return 127 }
    let own = "/proc/self/exe"
    guard let program = realpath(own, nil) else { throw Failure.refused("\(SystemError.last("read \(own)"))") }
    defer { free(program) }
    let network = [
      "pasta", "--quiet", "--config-net", "--no-map-gw", "--no-netns-quit", "-t", "none", "-u", "none", "-T", "none", "-U", "none",
      "--ns-ifname", link, "--address", Self.address, "--netmask", "30", "--gateway", Self.gateway, "--address", Self.address6,
      "--gateway", Self.gateway6, "--",
    ]
    let inside = [String(cString: program), "run", "--inside", "\(geteuid())\(Self.separator)\(getegid())", "--", path] + arguments
    return try Isolation.run(pasta, network + inside)
  }

  /// As the first process in the namespace: hides what leads out of it, and runs the program as the caller.
  static func runInside(_ caller: String, _ path: String, _ arguments: [String]) throws -> Int32 {
    let parts = caller.split(separator: separator).compactMap { UInt32($0) }
    guard parts.count == 2, getpid() == 1 else { throw ValidationError("--inside is for the command itself") }
    // Any server: the firewall leads its questions to those of the tunnel.
    var files = HiddenResolvers.present.map { (covered: $0, by: "/dev/null") }
    let texts = [("/etc/resolv.conf", "nameserver \(gateway)\n"), ("/etc/nsswitch.conf", nsswitch)]
    var made: [String] = []
    defer { for path in made { unlink(path) } }
    for (file, text) in texts {
      guard let covered = HiddenResolvers.realPath(file) else { continue }
      let cover = try temporaryFile(text)
      made.append(cover)
      files.append((covered, cover))
    }
    try Isolation.cover(files)
    for path in made { unlink(path) }
    return try Isolation.runFirst(path, arguments, user: parts[0], group: parts[1])
  }

  /// As it is, but that names are asked at the servers of resolv.conf.
  private static var nsswitch: String {
    let text = (try? TextFile.read("/etc/nsswitch.conf")).map { String(decoding: $0, as: UTF8.self) } ?? ""
    let others = text.split(separator: "\n", omittingEmptySubsequences: false).filter { !$0.drop { $0 == " " }.hasPrefix("hosts:") }
    return (others + ["hosts: files dns", ""]).joined(separator: "\n")
  }

  private static func temporaryFile(_ text: String) throws(SystemError) -> String {
    var name = Array("/tmp/roamward-XXXXXX".utf8CString)
    let number = mkstemp(&name)
    guard number >= 0 else { throw .last("make a file in /tmp") }
    let file = FileDescriptor(owning: number)
    fchmod(number, 0o644)
    _ = try file.write(Array(text.utf8)[...])
    return name.withUnsafeBufferPointer { String(decoding: $0.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self) }
  }
}
