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

  /// Policies of Firefox's installation, which a file below `/etc` hides: Firefox reads one file.
  var installedPolicies = ["/usr/lib/firefox", "/usr/lib64/firefox", "/usr/lib/firefox-esr", "/usr/share/firefox-esr", "/opt/firefox"].map {
    "\($0)/distribution/policies.json"
  }
  /// dconf's profiles of a vendor, which one below `/etc` hides; the first is read.
  var installedProfiles = ["/usr/local/share", "/usr/share"].map { "\($0)/dconf/profile/user" }

  init(root: String = "/etc", stateDirectory: String) {
    self.root = root
    note = stateDirectory + "/" + Self.noteName
  }

  static let noteName = "proxy-folders"

  static let marker = "# Written by roamwardd, which removes it when no policy publishes proxies."

  func path(of sink: ProxySink) -> String? {
    switch sink {
    case .pac, .environment: nil
    case .dconf: "\(root)/dconf/db/local.d/50-roamward"
    case .chromium: "\(root)/chromium/policies/managed/roamward-proxies.json"
    case .chrome: "\(root)/opt/chrome/policies/managed/roamward-proxies.json"
    case .firefox: "\(root)/firefox/policies/policies.json"
    }
  }

  /// All files that are written for a sink.
  private func places(of sink: ProxySink) -> [String] { path(of: sink).map { sink == .dconf ? [$0, profile] : [$0] } ?? [] }

  static func content(of sink: ProxySink) -> String {
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
    // An agent that was killed leaves unfinished files, folders with nothing in them, and a database that was not compiled again.
    let abandoned = foldersMade().filter { Folder.names(in: $0).isEmpty }
    for sink in ProxySink.allCases {
      guard let path = path(of: sink) else { continue }
      let text = Self.text(path)
      let isOurs = text == Self.content(of: sink)
      let isUnfinished = places(of: sink).contains { access($0 + TextFile.temporarySuffix, F_OK) == 0 }
      let isAbandoned = places(of: sink).contains { place in abandoned.contains { place.hasPrefix($0 + "/") } }
      // The name of Firefox's file is not ours alone.
      if isOurs || isUnfinished || isAbandoned || text != nil && sink != .firefox || sink == .dconf && hasLeftDatabase {
        observed.remains.insert(sink)
      }
      if let obstacle = obstacle(of: sink, text) {
        observed.obstacles[sink] = obstacle
      } else if isOurs, !isUnfinished, sink != .dconf || isProfileRight && hasAddress {
        observed.published.insert(sink)
      }
    }
    // The note itself was not finished.
    if access(note + TextFile.temporarySuffix, F_OK) == 0 { observed.remains.insert(.dconf) }
  }

  /// Writes the files of these sinks, and removes those of all others. A sink with an obstacle is left out. Returns the failures: that of
  /// one sink says nothing of the others.
  func publish(_ sinks: Set<ProxySink>) -> [ProxySink: SystemError] {
    var failures: [ProxySink: SystemError] = [:]
    for sink in ProxySink.allCases {
      guard let path = path(of: sink) else { continue }
      clearUnfinished(sink)
      do throws(SystemError) {
        if sinks.contains(sink), obstacle(of: sink, Self.text(path)) == nil {
          try write(sink, path)
        } else {
          try remove(sink, path)
        }
      } catch { failures[sink] = error }
    }
    removeFolders()
    return failures
  }

  /// Removes all of them, and the folders that were made for them.
  func withdraw() -> [ProxySink: SystemError] { publish([]) }

  private func clearUnfinished(_ sink: ProxySink) {
    for place in places(of: sink) {
      TextFile.clearUnfinished(place)
      unlink(place + TextFile.temporarySuffix)
    }
  }

  private func write(_ sink: ProxySink, _ path: String) throws(SystemError) {
    if sink == .dconf, !isProfileRight { try writeProfile() }
    let isWritten = Self.text(path) == Self.content(of: sink)
    if !isWritten { try write(Self.content(of: sink), to: path) }
    guard sink == .dconf, !isWritten || !hasAddress else { return }
    // dconf fails for an error in another folder too, after it has compiled ours.
    let reason = compileDatabases()
    if !hasAddress { throw SystemError(code: EIO, operation: "dconf update: \(reason ?? "the database has no address of proxies")") }
  }

  private func remove(_ sink: ProxySink, _ path: String) throws(SystemError) {
    let text = Self.text(path)
    let isThere = text != nil && (sink != .firefox || text == Self.content(of: sink))
    if isThere { try TextFile.remove(path) }
    if sink == .dconf { try removeFromDatabase(isChanged: isThere) }
  }
}

// dconf: a database of the system, and the profile by which users read it.
extension ProxyFiles {
  var profile: String { "\(root)/dconf/profile/user" }
  var database: String { "\(root)/dconf/db/local" }
  private var keyFolder: String { "\(database).d" }
  private static let profileText = "\(marker)\nuser-db:user\nsystem-db:local\n"

  /// The profile of another program that users read without ours.
  var foreignProfile: (path: String, text: String)? {
    for path in [profile] + installedProfiles {
      if let text = Self.text(path), path != profile || text != Self.profileText { return (path, text) }
    }
    return nil
  }

  /// As dconf reads a profile: blanks around a line do not count, nor what follows a `#`.
  static func readsLocal(_ profile: String) -> Bool {
    profile.split(whereSeparator: \.isNewline).contains { line in
      line.prefix { $0 != "#" }.split(whereSeparator: \.isWhitespace) == ["system-db:local"]
    }
  }

  /// Whether users read the database: by another program's profile, or by ours where there is none.
  private var isProfileRight: Bool {
    let isOurs = Self.text(profile) == Self.profileText
    return foreignProfile.map { !isOurs && Self.readsLocal($0.text) } ?? isOurs
  }

  private func writeProfile() throws(SystemError) {
    // One of a vendor was installed after ours was written.
    if foreignProfile != nil { return try removeProfile() }
    try write(Self.profileText, to: profile)
  }

  private func removeProfile() throws(SystemError) { if Self.text(profile) == Self.profileText { try TextFile.remove(profile) } }

  /// Whether the database has the address of proxies.
  var hasAddress: Bool { Self.hasAddress(database) }

  private static func hasAddress(_ path: String) -> Bool {
    (try? TextFile.read(path, limit: 1 << 24))?.firstRange(of: ProxyPublication.url.utf8) != nil
  }

  /// Whether the database has the address only because our file was there.
  private var isStale: Bool {
    guard hasAddress, let path = path(of: .dconf) else { return false }
    return !Folder.names(in: keyFolder).contains { "\(keyFolder)/\($0)" != path && Self.hasAddress("\(keyFolder)/\($0)") }
  }

  /// Whether something is to be removed beside the file with the address. Without dconf, nothing compiles a database.
  private var hasLeftDatabase: Bool { Self.text(profile) == Self.profileText || isStale && programs("dconf") }

  private func removeFromDatabase(isChanged: Bool) throws(SystemError) {
    try removeProfile()
    let isEmpty = Folder.names(in: keyFolder).isEmpty
    let isOwn = isEmpty && access(keyFolder, F_OK) == 0 && foldersMade().contains(keyFolder)
    guard isChanged || isStale || isOwn && access(database, F_OK) == 0 else { return }
    // Also of an empty folder: programs that run read the database again.
    let reason = compileDatabases()
    if isOwn || isEmpty && access(keyFolder, F_OK) != 0 {
      try TextFile.remove(database)
    } else if isStale, programs("dconf") {
      throw SystemError(code: EIO, operation: "dconf update: \(reason ?? "the database still has the address of proxies")")
    }
  }

  private func compileDatabases() -> String? {
    FaultPoint.pass("before dconf update")
    defer { FaultPoint.pass("after dconf update") }
    return compile()
  }

  /// `folder`: another one than dconf's own, for tests.
  static func runDconf(in folder: String? = nil) -> String? {
    do throws(SystemError) {
      let run = try CapturedProgram(
        "dconf", ["update"] + (folder.map { [$0] } ?? []), environment: ["PATH=/usr/bin:/bin", "LANG=C.UTF-8"], limit: .seconds(5),
        // Every user reads the databases; the agent's own mask leaves them to root.
        umask: 0o022)
      if run.status == 0 { return nil }
      let text = String(decoding: run.output, as: UTF8.self).split(whereSeparator: \.isNewline).first.map(String.init)
      return text ?? "it ends with status \(run.status.map { "\($0)" } ?? "none")"
    } catch {
      return error.description
    }
  }
}

// Files and folders.
extension ProxyFiles {
  static func text(_ path: String) -> String? { (try? TextFile.read(path)).map { String(decoding: $0, as: UTF8.self) } }

  private func write(_ text: String, to path: String) throws(SystemError) {
    let folder = Folder.parent(of: path)
    let made = foldersMade()
    var missing: [String] = []
    var place = folder
    while place.count > 1, access(place, F_OK) != 0 {
      if !made.contains(place) { missing.append(place) }
      place = Folder.parent(of: place)
    }
    if !missing.isEmpty { try setFoldersMade(made + missing.reversed()) }
    if access(folder, F_OK) != 0 {
      try Folder.make(folder, mode: 0o755)
      FaultPoint.pass("after making \(folder)")
    }
    try TextFile.replace(path, with: Array(text.utf8), mode: 0o644)
  }

  private func foldersMade() -> [String] {
    (Self.text(note) ?? "").split(separator: "\n").map(String.init).filter { $0.hasPrefix(root + "/") }
  }

  private func setFoldersMade(_ folders: [String]) throws(SystemError) {
    try TextFile.replace(note, with: Array(folders.map { $0 + "\n" }.joined().utf8), mode: 0o600)
  }

  /// Removes the folders that were made, where nothing is in them; the note has the others until then.
  private func removeFolders() {
    unlink(note + TextFile.temporarySuffix)
    let made = foldersMade()
    if made.isEmpty { return }
    // A folder may be in the note before the one that contains it.
    for folder in made.sorted(by: >) where access(folder, F_OK) == 0 && Folder.names(in: folder).isEmpty {
      FaultPoint.pass("before removing \(folder)")
      rmdir(folder)
    }
    let rest = made.filter { access($0, F_OK) == 0 }
    if rest.isEmpty {
      FaultPoint.pass("before removing \(note)")
      unlink(note)
    } else if rest != made {
      try? setFoldersMade(rest)
    }
  }
}
