import Glibc
import LinuxIO
import ProviderGroups
import Testing

/// The paths of the lab and of the programs, and whether a lab can be built here.
enum Lab {
  /// The checkout, by a path for texts of shells. It is that of the test bundle, which may stand elsewhere than where it was built.
  static let root: String = {
    let built = bundle.parent.parent.parent.parent
    return plain(access("\(built)/Package.swift", R_OK) == 0 ? built : #filePath.parent.parent.parent, as: "checkout")
  }()

  static let folder = root + "/Tests/ScenarioTests/Scenes"
  static let script = root + "/examples/walk/lab"
  static let words = folder + "/scene.bash"

  /// The folder of `roamward` and `roamwardd`: ROAMWARD_BIN, or that of the test bundle.
  static let programs: String = {
    if let chosen = getenv("ROAMWARD_BIN") { return plain(String(cString: chosen), as: "programs") }
    return plain(bundle.parent, as: "programs")
  }()

  private static let bundle: String = {
    guard let path = realpath("/proc/self/exe", nil) else { return "" }
    defer { free(path) }
    return String(cString: path)
  }()

  /// The folder itself; where its path has a blank or letters outside ASCII, a link to it that is there as long as this process: most texts
  /// of scenes have no quotes around it.
  private static func plain(_ folder: String, as name: String) -> String {
    if folder.utf8.allSatisfy({ "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-".utf8.contains($0) }) { return folder }
    guard let links else { return folder }
    return symlink(folder, "\(links)/\(name)") == 0 ? "\(links)/\(name)" : folder
  }

  private static let links: String? = {
    var name = Array("/tmp/roamward-place-XXXXXX".utf8CString)
    guard mkdtemp(&name) != nil else { return nil }
    let folder = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    // Scenes run programs as other users too.
    chmod(folder, 0o755)
    atexit {
      guard let links = Lab.links else { return }
      for name in ["checkout", "programs"] { unlink("\(links)/\(name)") }
      rmdir(links)
    }
    return folder
  }()

  /// The file in which scenes record the duration of each of their waits (`ROAMWARD_PROMISES`), and whether a wait that took longer than
  /// promised fails (`ROAMWARD_STRICT`), as shell assignments.
  static let promises: String = {
    let file = getenv("ROAMWARD_PROMISES").map { String(cString: $0) } ?? ""
    return "promises='\(file)' strict='\(getenv("ROAMWARD_STRICT") == nil ? "" : "yes")'"
  }()

  /// The lab's script, with our programs, for a shell.
  static let command = "env ROAMWARD_BIN='\(programs)' '\(script)'"

  /// The folder of the programs that `scripts/setup --vm` unpacks beside the machine's own.
  static let unpacked: String = {
    let cache = getenv("XDG_CACHE_HOME").map { String(cString: $0) } ?? (getenv("HOME").map { String(cString: $0) } ?? "") + "/.cache"
    return cache + "/roamward-vm/unpacked"
  }()

  /// The reason why no lab can be built here; `nil`: it can.
  static let refusal: String? = {
    for program in ["roamward", "roamwardd"] where access("\(programs)/\(program)", X_OK) != 0 { return "no \(program) in \(programs)" }
    guard let stream = popen("exec \(command) run true 2>&1", "re") else { return "popen does not work" }
    var said: [UInt8] = []
    while case let byte = fgetc(stream), byte != EOF { said.append(UInt8(truncatingIfNeeded: byte)) }
    return pclose(stream) == 0 ? nil : String(decoding: said, as: UTF8.self)
  }()
}

extension Trait where Self == ConditionTrait {
  static var marksSockets: Self {
    .enabled(if: ProviderGroups.absence() == nil, Comment(rawValue: ProviderGroups.absence() ?? "sockets can be marked"))
  }

  static var needsLab: Self { .enabled(if: Lab.refusal == nil, Comment(rawValue: Lab.refusal ?? "a lab can be built")) }
}

/// The company's tunnel: down on cables, up on the café's Wi-Fi and on mobile data.
let corp = """
  version: 1
  tunnels:
    corp:
      class: enterprise
      provider: { wireguard: { config: corp.conf } }
      on-demand:
        timing: { release-delay: 0s }
        rules:
          - { match: { interface-name: "eth*" }, action: disconnect }
          - { match: { ssid: Cafe }, action: connect }
          - { match: { interface-name: "wwan*" }, action: connect }
          - { action: ignore }
      routes: { include: [10.77.0.0/16] }
      dns: { servers: [10.77.0.1], search-domains: [corp.example] }

  """

/// The same for everything, with a kill switch.
func corpForEverything(killSwitch: String) -> String {
  corp.with("[10.77.0.0/16]", "[default]").with("class: enterprise", "kill-switch: \"\(killSwitch)\"")
}

extension String {
  /// The text with one part of it, which has to be there, replaced.
  func with(_ part: String, _ other: String) -> String {
    let parts = split(separator: part, omittingEmptySubsequences: false)
    precondition(parts.count > 1, "\(part) is not in \(self)")
    return parts.joined(separator: other)
  }

  fileprivate var parent: String { lastIndex(of: "/").map { String(self[..<$0]) } ?? "." }
}
