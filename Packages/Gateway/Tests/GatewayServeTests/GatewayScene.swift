import Glibc
import TestSupport
import Testing

/// A scene of a gateway: a script in network, mount and process namespaces of its own, which end with it.
enum GatewayScene {
  static let folder = "\(#filePath)".split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
  static let root = folder.split(separator: "/").dropLast(4).reduce("") { $0 + "/" + $1 }
  static let loginClient = ["LOGIN": folder + "/login.py"]

  static let canRun: Bool =
    geteuid() == 0 && canMakeNamespaces && access("/dev/net/tun", R_OK | W_OK) == 0
    && (try? shell("command -v wireguard-go wg wg-quick ip nft busybox unshare")) != nil

  static let hasServer =
    (try? shell("ls /usr/lib/postgresql/*/bin/postgres && command -v nsenter pkill setpriv python3")) != nil && getpwnam("postgres") != nil

  /// Packages that `scripts/setup --vm` unpacks beside the machine's own: installed, they would take part in its logins.
  static let unpacked = (variable("XDG_CACHE_HOME") ?? (variable("HOME") ?? "/root") + "/.cache") + "/roamward-vm/unpacked"

  /// When what is killed.
  static var seed: String { variable("SEED") ?? "\(UInt16.random(in: 1...32_767))" }

  static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

  /// Plays a scene; what it measures is printed.
  static func play(
    _ scene: String, _ arguments: String..., with environments: [String: String]..., limit: Duration = .seconds(240),
    at place: SourceLocation = #_sourceLocation
  ) throws {
    let own = ["ROAMWARD_BIN": programs, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"]
    let outcome = try run(
      ["/usr/bin/unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "/bin/bash", "\(folder)/\(scene).bash"]
        + arguments, environment: environments.reduce(own) { $0.merging($1) { $1 } }, limit: limit)
    print(outcome.output)
    #expect(outcome.code == 0, "\(outcome.output)", sourceLocation: place)
  }

  /// The folder that the tests were built into.
  private static var programs: String {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink("/proc/self/exe", &buffer, buffer.count)
    let path = String(decoding: buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return path.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
  }
}

extension Trait where Self == ConditionTrait {
  /// What every scene of a gateway needs.
  static var forScenes: Self {
    .enabled(if: GatewayScene.canRun, "needs root, namespaces, /dev/net/tun, wireguard-go, wg, wg-quick, ip, busybox and nft")
  }

  /// Programs that `scripts/setup --vm` installs. A test without one is skipped; under continuous integration it fails.
  static func needs(_ programs: String...) -> Self {
    let missing = programs.filter { (try? shell("command -v \($0)")) == nil }
    return .enabled(
      if: missing.isEmpty || GatewayScene.variable("CI") != nil, "\(missing.joined(separator: ", ")) missing (scripts/setup --vm)")
  }
}
