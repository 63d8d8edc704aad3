import Glibc
import LinuxIO
import TestSupport
import Testing
import WireGuardDataPath

private let script = "\(#filePath)".replacingLastComponent(by: "interoperation.bash")
private let canRun =
  geteuid() == 0 && canMakeNamespaces && access("/dev/net/tun", R_OK | W_OK) == 0
  && (try? shell("command -v wireguard-go wg ip busybox nft")) != nil

@Suite(
  "roamward-wireguard and wireguard-go",
  .enabled(if: canRun, "needs root, namespaces, /dev/net/tun, wireguard-go, wg, ip, busybox and nft"),
  .serialized)
struct InteroperationTests {
  /// Some at a time, as a case of its own for each would mostly be starting programs.
  @Test(
    "speak to one another",
    arguments: [
      "we_begin they_begin outer_ipv6 they_begin_by_ipv6 preshared_key", "datagrams wg_shows narrow_path routing_loop rekey_under_load",
      "roaming several_addresses rebinding others_links", "they_restart we_restart without_offloads", "narrow_router lossy two_clients",
      "confined moved_link late_news no_peer",
    ])
  func together(cases: String) throws { try run(with: "wireguard-go", cases) }

  @Test("speak to one another, with each library that may encrypt", arguments: CipherLibrary.allCases.map(\.rawValue))
  func ciphers(cipher: String) throws {
    let isThere = cipher == CipherLibrary.libsodium.rawValue || LoadedCiphers(only: CipherLibrary(rawValue: cipher)).rejections.isEmpty
    guard isThere else { return print("not run: \(cipher) does not work on this machine") }
    try run(with: "wireguard-go", "datagrams rekey_under_load", cipher: cipher)
  }

  @Test("speak to one another, with four pairs of threads at our end")
  func pairs() throws {
    try run(with: "wireguard-go", "we_begin they_begin_by_ipv6 datagrams rekey_under_load roaming confined others_links", pairs: "4")
  }

  @Test("two of ours, with four pairs of threads each")
  func pairsAtBothEnds() throws { try run(with: "roamward-wireguard", "datagrams rekey_under_load roaming", pairs: "4") }

  @Test("two of ours: the inner ECN bits are shown outside, DSCP is not, and a mark on the way is seen inside")
  func marks() throws { try run(with: "roamward-wireguard", "marks") }

  @Test("two of ours: 1.7 MB that come while the receiving process does not run wait for it")
  func burst() throws { try run(with: "roamward-wireguard", "burst") }

  private func run(with peer: String, _ cases: String, cipher: String = "", pairs: String = "") throws {
    // The processes that the script starts end with it, however it ends.
    let outcome = try TestSupport.run(
      ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", script, peer]
        + cases.split(separator: " ").map(String.init),
      environment: ["ROAMWARD_BIN": Self.programs, "INTEROPERATION_CIPHER": cipher, "INTEROPERATION_PAIRS": pairs])
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
