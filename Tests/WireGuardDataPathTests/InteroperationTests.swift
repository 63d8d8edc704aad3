import Glibc
import LinuxIO
import TestSupport
import Testing

private let script = "\(#filePath)".replacingLastComponent(by: "interoperation.bash")
private let canRun =
  geteuid() == 0 && canMakeNamespaces && access("/dev/net/tun", R_OK | W_OK) == 0
  && (try? shell("command -v wireguard-go wg ip busybox")) != nil

@Suite(
  "roamward-wireguard and wireguard-go", .enabled(if: canRun, "needs root, namespaces, /dev/net/tun, wireguard-go, wg, ip and busybox"),
  .serialized)
struct InteroperationTests {
  @Test(
    "speak to one another",
    arguments: [
      "we_begin", "they_begin", "outer_ipv6", "they_begin_by_ipv6", "preshared_key", "without_offloads", "roaming", "several_addresses",
      "they_restart", "we_restart", "narrow_path", "datagrams", "wg_shows",
    ])
  func together(what: String) throws {
    let outcome: ChildProcess.Outcome = try onLoop(limit: .seconds(180)) { loop, done in
      try ChildProcess(
        ["unshare", "--net", "--mount", script, "wireguard-go", what], environment: ["ROAMWARD_BIN": Self.programs],
        timeout: .seconds(120), on: loop, then: done)
    }
    #expect(outcome.code == 0, "\(outcome.output)")
  }

  /// The folder that the tests were built into.
  private static var programs: String {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink("/proc/self/exe", &buffer, buffer.count)
    return String(decoding: buffer.prefix(max(0, count)).map(UInt8.init(bitPattern:)), as: UTF8.self).replacingLastComponent(by: "")
  }
}

extension String {
  fileprivate func replacingLastComponent(by name: String) -> String { Folder.parent(of: self) + "/" + name }
}
