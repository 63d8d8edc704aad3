internal import Glibc
internal import KernelModel
internal import LinuxIO

/// The files by which programs are given the address of proxies. Each is a file of its own, known by its place and its content; a file of
/// another program is never changed.
struct ProxyFiles {
  /// `/etc`, or another folder for tests.
  let root: String
  /// The note of the folders that were made for these files: they are removed with them.
  let note: String
  /// Compiles dconf's databases; returns the reason why that failed.
  var compile: () -> String? = { ProxyFiles.runDconf() }

  /// Whether a program is installed.
  var programs: (String) -> Bool = { isOnPath($0) }

  init(root: String = "/etc", stateDirectory: String) {
    self.root = root
    note = stateDirectory + "/" + Self.noteName
  }

  static let noteName = "proxy-folders"

  private static let marker = "# Written by roamwardd, which removes it when no policy publishes proxies."

  private func path(of sink: ProxySink) -> String? {
    switch sink {
    case .pac, .environment: nil
    case .dconf: "\(root)/dconf/db/local.d/50-roamward"
    case .chromium: "\(root)/chromium/policies/managed/roamward-proxies.json"
    case .chrome: "\(root)/opt/chrome/policies/managed/roamward-proxies.json"
    case .firefox: "\(root)/firefox/policies/policies.json"
    }
  }

  private static func content(of sink: ProxySink) -> String {
    let url = ProxyPublication.url
    return switch sink {
    case .pac, .environment: ""
    case .dconf: "\(marker)\n[system/proxy]\nmode='auto'\nautoconfig-url='\(url)'\n"
    case .chromium, .chrome:
      "{\"ProxySettings\": {\"ProxyMode\": \"pac_script\", \"ProxyPacUrl\": \"\(url)\", \"ProxyPacMandatory\": false}}\n"
    case .firefox: "{\"policies\": {\"Proxy\": {\"Mode\": \"autoConfig\", \"AutoConfigURL\": \"\(url)\", \"Locked\": false}}}\n"
    }
  }

  /// Adds what is there to an observation.
  func observe(_ observed: inout ObservedProxies) {
    for sink in ProxySink.allCases {
      guard let path = path(of: sink) else { continue }
      let text = Self.text(path)
      let isOurs = text == Self.content(of: sink)
      // The name of Firefox's file is not ours alone.
      if isOurs || text != nil && sink != .firefox || sink == .dconf && Self.text(profile) == Self.profileText {
        observed.remains.insert(sink)
      }
      if let obstacle = obstacle(of: sink, text) {
        observed.obstacles[sink] = obstacle
      } else if isOurs, sink != .dconf || readsLocal && access(database, F_OK) == 0 {
        observed.published.insert(sink)
      }
    }
  }

  private func obstacle(of sink: ProxySink, _ text: String?) -> String? {
    switch sink {
    case .pac, .environment: return nil
    case .dconf:
      if !programs("dconf") { return "the program dconf is not installed; cure: install dconf-cli" }
      if let profile = Self.text(profile), !profile.split(separator: "\n").contains("system-db:local") {
        return "\(self.profile) does not read the database `local`; cure: add the line `system-db:local` to it"
      }
    case .firefox:
      guard let text, text != Self.content(of: sink), let path = path(of: sink) else { return nil }
      return
        "\(path) is another program's; cure: add \"Proxy\": {\"Mode\": \"autoConfig\", \"AutoConfigURL\": \"\(ProxyPublication.url)\"} "
        + "to its policies"
    case .chromium, .chrome:
      guard let path = path(of: sink) else { return nil }
      let folder = Folder.parent(of: path)
      for name in Folder.names(in: folder) where "\(folder)/\(name)" != path {
        let other = Self.text("\(folder)/\(name)") ?? ""
        if other.contains("\"ProxySettings\"") || other.contains("\"ProxyMode\"") {
          return "\(folder)/\(name) sets the browser's proxy already; cure: remove it there"
        }
      }
    }
    return nil
  }

  /// Writes the files of these sinks, and removes those of all others. A sink with an obstacle is left out.
  func publish(_ sinks: Set<ProxySink>) throws(SystemError) {
    for sink in ProxySink.allCases where sink.isFile {
      guard let path = path(of: sink) else { continue }
      guard sinks.contains(sink), obstacle(of: sink, Self.text(path)) == nil else {
        try remove(sink)
        continue
      }
      if sink == .dconf, Self.text(profile) == nil { try write(Self.profileText, to: profile) }
      if Self.text(path) != Self.content(of: sink) || sink == .dconf { try write(Self.content(of: sink), to: path) }
      if sink == .dconf, let reason = compile() { throw SystemError(code: EIO, operation: "dconf update: \(reason)") }
    }
    removeFolders()
  }

  /// Removes all of them, and the folders that were made for them.
  func withdraw() throws(SystemError) { try publish([]) }

  private func remove(_ sink: ProxySink) throws(SystemError) {
    guard let path = path(of: sink) else { return }
    TextFile.clearUnfinished(path)
    unlink(path + TextFile.temporarySuffix)
    let text = Self.text(path)
    let isThere = text != nil && (sink != .firefox || text == Self.content(of: sink))
    if isThere { try TextFile.remove(path) }
    guard sink == .dconf else { return }
    if Self.text(profile) == Self.profileText { try TextFile.remove(profile) }
    guard isThere else { return }
    let folder = Folder.parent(of: path)
    if foldersMade().contains(folder), Folder.names(in: folder).isEmpty {
      if access(database, F_OK) == 0 { try TextFile.remove(database) }
    } else {
      _ = compile()
    }
  }
}

// dconf: a database of the system, and the profile by which users read it.
extension ProxyFiles {
  private var profile: String { "\(root)/dconf/profile/user" }
  private var database: String { "\(root)/dconf/db/local" }
  private static let profileText = "\(marker)\nuser-db:user\nsystem-db:local\n"

  private var readsLocal: Bool {
    Self.text(profile)?.split(separator: "\n").contains("system-db:local") ?? false
  }

  private static func runDconf() -> String? {
    do throws(SystemError) {
      let run = try CapturedProgram("dconf", ["update"], environment: ["PATH=/usr/bin:/bin", "LANG=C.UTF-8"], limit: .seconds(5))
      if run.status == 0 { return nil }
      let text = String(decoding: run.output, as: UTF8.self).split(separator: "\n").first.map(String.init)
      return text ?? "it ends with status \(run.status.map { "\($0)" } ?? "none")"
    } catch {
      return error.description
    }
  }
}

// Files and folders.
extension ProxyFiles {
  private static func text(_ path: String) -> String? { (try? TextFile.read(path)).map { String(decoding: $0, as: UTF8.self) } }

  private func write(_ text: String, to path: String) throws(SystemError) {
    let folder = Folder.parent(of: path)
    var missing: [String] = []
    var place = folder
    while place.count > 1, access(place, F_OK) != 0 {
      missing.append(place)
      place = Folder.parent(of: place)
    }
    if !missing.isEmpty {
      let all = foldersMade() + missing.reversed()
      try TextFile.replace(note, with: Array(all.map { $0 + "\n" }.joined().utf8), mode: 0o600)
      try Folder.make(folder, mode: 0o755)
    }
    try TextFile.replace(path, with: Array(text.utf8), mode: 0o644)
  }

  private func foldersMade() -> [String] {
    (Self.text(note) ?? "").split(separator: "\n").map(String.init).filter { $0.hasPrefix(root + "/") }
  }

  /// Removes the folders that were made, where nothing is in them; the note has the others until then.
  private func removeFolders() {
    let made = foldersMade()
    if made.isEmpty { return }
    for folder in made.reversed() where Folder.names(in: folder).isEmpty { rmdir(folder) }
    let rest = made.filter { access($0, F_OK) == 0 }
    if rest.isEmpty {
      unlink(note)
    } else if rest != made {
      try? TextFile.replace(note, with: Array(rest.map { $0 + "\n" }.joined().utf8), mode: 0o600)
    }
  }
}
