import Glibc
import LinuxIO
import ProviderGroups
import Synchronization
import TestSupport
import Testing

/// A scene of a gateway: a script in network, mount and process namespaces of its own, which end with it.
enum GatewayScene {
  static let folder = "\(#filePath)".split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 } + "/Scenes"
  static let root = folder.split(separator: "/").dropLast(4).reduce("") { $0 + "/" + $1 }
  static let loginClient = ["LOGIN": folder + "/login.py"]
  static let packets = ["PACKETS": folder + "/packets.py"]

  static let canRun: Bool =
    geteuid() == 0 && canMakeNamespaces && access("/dev/net/tun", R_OK | W_OK) == 0
    && (try? shell("command -v wireguard-go wg wg-quick ip nft busybox unshare")) != nil

  static let hasServer =
    (try? shell("ls /usr/lib/postgresql/*/bin/postgres && command -v nsenter pkill setpriv python3")) != nil && getpwnam("postgres") != nil

  /// Packages that `scripts/setup --vm` unpacks beside the machine's own: installed, they would take part in its logins.
  static let unpacked = (variable("XDG_CACHE_HOME") ?? (variable("HOME") ?? "/root") + "/.cache") + "/roamward-vm/unpacked"

  /// axe-core, which finds faults of a page for people with disabilities; `scripts/setup --vm` unpacks it.
  static let axe = unpacked + "/axe-4.12.1/axe_playwright_python/axe.min.js"
  /// The folder for pictures of the page: those of the documentation are made anew with UPDATE_DOCS.
  static let pictures = variable("PICTURES") ?? (variable("UPDATE_DOCS") == nil ? "" : root + "/docs/images")

  /// When what is killed.
  static var seed: String { variable("SEED") ?? "\(UInt16.random(in: 1...32_767))" }

  static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

  /// Plays a scene; what it measures is printed.
  static func play(
    _ scene: String, _ arguments: String..., with environments: [String: String]..., at place: SourceLocation = #_sourceLocation
  ) throws {
    let own = ["ROAMWARD_BIN": programs, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"]
    let box = ["/usr/bin/unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "/bin/bash"]
    let group = SceneGroup()
    let outcome = try withExtendedLifetime(group) {
      try run(
        group.entrance + box + ["\(folder)/\(scene).bash"] + arguments, environment: environments.reduce(own) { $0.merging($1) { $1 } })
    }
    print(outcome.output)
    #expect(outcome.code == 0, "\(outcome.output)", sourceLocation: place)
  }

  /// The folder that the tests were built into.
  static var programs: String {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink("/proc/self/exe", &buffer, buffer.count)
    let path = String(decoding: buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return path.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
  }
}

/// The control group of a scene, with those that its agents make and leave there when they are killed with it. Their names are numbers of
/// network namespaces, which the kernel gives again: in a group of all, an agent of another scene would find them.
private final class SceneGroup {
  private static let count = Atomic(0)
  private let name = "roamward-scene-\(getpid())-\(count.add(1, ordering: .relaxed).newValue)"
  private let parent: OpenControlGroup?
  private let group: OpenControlGroup?

  /// Without a version 2 hierarchy there is none, and agents make none.
  init() {
    parent = controlGroup(of: getpid()).flatMap { try? OpenControlGroup.root().descendant($0) }
    group = try? parent?.makeChild(name)
  }

  /// Goes before the arguments of a program, to start it there. By the descriptor: the hierarchy may be mounted in no folder.
  var entrance: [String] {
    guard let group else { return [] }
    return ["/bin/sh", "-c", "echo $$ >/proc/\(getpid())/fd/\(group.folder.number)/cgroup.procs && exec \"$@\"", "sh"]
  }

  deinit {
    guard let group, let parent else { return }
    group.kill()
    for _ in 0..<200 where group.isPopulated { usleep(20_000) }
    do throws(SystemError) { try parent.removeChild(name) } catch { Issue.record(error) }
  }
}

extension Trait where Self == ConditionTrait {
  /// The needs of every scene of a gateway.
  static var forScenes: Self {
    .enabled(if: GatewayScene.canRun, "needs root, namespaces, /dev/net/tun, wireguard-go, wg, wg-quick, ip, busybox and nft")
  }

  /// Programs that `scripts/setup --vm` installs. A test without one is skipped.
  static func needs(_ programs: String...) -> Self {
    let missing = programs.filter { (try? shell("command -v \($0)")) == nil }
    return .enabled(if: missing.isEmpty, "\(missing.joined(separator: ", ")) missing (scripts/setup --vm)")
  }
}
