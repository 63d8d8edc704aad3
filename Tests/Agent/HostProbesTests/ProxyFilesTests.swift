import Glibc
import KernelModel
import LinuxIO
import SystemdIO
import TestSupport
import Testing

@testable import HostProxies

/// The files by which programs are given the address of proxies, in a folder.
@Suite struct ProxyFilesTests {
  private final class Machine {
    let folder: TemporaryFolder
    var files: ProxyFiles
    var etc: String { folder.path + "/etc" }

    init() throws {
      folder = try TemporaryFolder()
      try Folder.make(folder.path + "/etc", mode: 0o755)
      try Folder.make(folder.path + "/state", mode: 0o755)
      files = ProxyFiles(root: folder.path + "/etc", stateDirectory: folder.path + "/state")
      files.programs = { $0 == "dconf" }
      (files.installedPolicies, files.installedProfiles) = ([folder.path + "/firefox.json"], [folder.path + "/user"])
      let etc = folder.path + "/etc"
      files.compile = {
        Self.compile(etc)
        return nil
      }
    }

    /// As dconf update does: a database for each folder, with the content of its files.
    static func compile(_ etc: String) {
      for name in Folder.names(in: "\(etc)/dconf/db") where name.hasSuffix(".d") {
        let folder = "\(etc)/dconf/db/\(name)"
        let bytes = Folder.names(in: folder).flatMap { (try? TextFile.read("\(folder)/\($0)")) ?? [] }
        try? TextFile.replace("\(etc)/dconf/db/\(name.dropLast(2))", with: [1] + bytes, mode: 0o644)
      }
    }

    /// Every file and folder, with its content.
    var tree: [String] {
      func list(_ path: String) -> [String] {
        Folder.names(in: path).flatMap { name -> [String] in
          let child = "\(path)/\(name)"
          if let bytes = try? TextFile.read(child) { return [child + ": " + String(decoding: bytes, as: UTF8.self)] }
          return [child + "/"] + list(child)
        }
      }
      return list(folder.path)
    }

    var observed: ObservedProxies {
      var observed = ObservedProxies()
      files.observe(&observed)
      return observed
    }

    func put(_ text: String, _ path: String) throws {
      try Folder.make(Folder.parent(of: "\(etc)/\(path)"), mode: 0o755)
      try TextFile.replace("\(etc)/\(path)", with: Array(text.utf8), mode: 0o644)
    }
  }

  private static let all: Set<ProxySink> = [.pac, .environment, .dconf, .chromium, .chrome, .firefox]

  @Test("are written and removed, and nothing is left of them")
  func life() throws {
    let machine = try Machine()
    let before = machine.tree
    _ = machine.files.publish(Self.all)
    #expect(machine.observed.published == [.dconf, .chromium, .chrome, .firefox] && machine.observed.obstacles.isEmpty)
    let chromium = String(decoding: try TextFile.read(machine.etc + "/chromium/policies/managed/roamward-proxies.json"), as: UTF8.self)
    #expect(chromium.contains("\"ProxyPacUrl\": \"http://127.82.0.80:82/proxy.pac\""))
    let full = machine.tree
    _ = machine.files.publish(Self.all)
    #expect(machine.tree == full)
    _ = machine.files.publish([.firefox])
    #expect(machine.observed.published == [.firefox] && machine.observed.remains == [.firefox])
    #expect(machine.files.withdraw().isEmpty)
    #expect(machine.tree == before)
    #expect(machine.observed == ObservedProxies())
  }

  @Test(
    "a profile is read as dconf reads it",
    arguments: [
      ("user-db:user\nsystem-db:local\n", true), ("user-db:user\r\nsystem-db:local\r\n", true),
      ("user-db:user\n  system-db:local # of the site\n", true), ("user-db:user\nsystem-db:local", true),
      ("user-db:user\n#system-db:local\n", false), ("system-db:locals\n", false), ("", false),
    ])
  func profiles(_ text: String, _ isRead: Bool) { #expect(ProxyFiles.readsLocal(text) == isRead) }

  @Test("of other programs stay as they are, and are an obstacle with its cure")
  func others() throws {
    let machine = try Machine()
    try machine.put("{\"policies\": {}}", "firefox/policies/policies.json")
    try machine.put("user-db:user\n", "dconf/profile/user")
    try machine.put("{\"ProxyMode\": \"direct\"}", "chromium/policies/managed/ours.json")
    try machine.put("{\"HomepageLocation\": \"x\"}", "opt/chrome/policies/managed/home.json")
    let before = machine.tree
    _ = machine.files.publish(Self.all)
    let observed = machine.observed
    #expect(observed.published == [.chrome])
    #expect(observed.obstacles[.firefox]?.contains("cure: add \"Proxy\"") == true)
    #expect(observed.obstacles[.dconf]?.contains("system-db:local") == true)
    #expect(observed.obstacles[.chromium]?.contains("ours.json sets the browser's proxy already") == true)
    #expect(machine.files.withdraw().isEmpty)
    #expect(machine.tree == before)
  }

  @Test("of a system with a database of its own are compiled again, and its own settings stay")
  func ownDatabase() throws {
    let machine = try Machine()
    try machine.put("user-db:user\nsystem-db:local\n", "dconf/profile/user")
    try machine.put("[x]\ny=1\n", "dconf/db/local.d/00-site")
    Machine.compile(machine.etc)
    let before = machine.tree
    _ = machine.files.publish([.dconf])
    #expect(machine.observed.published == [.dconf])
    #expect(machine.files.withdraw().isEmpty)
    #expect(machine.tree == before)
    machine.files.programs = { _ in false }
    #expect(machine.observed.obstacles[.dconf]?.contains("install dconf-cli") == true)
  }

  @Test("that were changed count as not published, and are written again")
  func changed() throws {
    let machine = try Machine()
    _ = machine.files.publish([.chromium])
    try machine.put("{}", "chromium/policies/managed/roamward-proxies.json")
    #expect(machine.observed.published == [] && machine.observed.remains == [.chromium])
    _ = machine.files.publish([.chromium])
    #expect(machine.observed.published == [.chromium])
  }

  @Test(
    "whose writing or removal was interrupted are seen, and removed",
    arguments: [
      "dconf/db/local.d/50-roamward", "chromium/policies/managed/roamward-proxies.json", "dconf/profile/user",
      "firefox/policies/policies.json",
    ])
  func unfinished(path: String) throws {
    let machine = try Machine()
    let before = machine.tree
    // Killed before the rename: the folder is made, and in the note.
    let folders = [
      "/dconf", "/dconf/db", "/dconf/db/local.d", "/dconf/profile", "/chromium", "/chromium/policies", "/chromium/policies/managed",
    ]
    let made = (folders + ["/firefox", "/firefox/policies"]).filter { "/\(path)".hasPrefix($0 + "/") }
    try TextFile.replace(machine.files.note, with: Array(made.map { machine.etc + $0 + "\n" }.joined().utf8), mode: 0o600)
    try machine.put("autoconfig-url='\(ProxyPublication.url)' \"ProxySettings\"", path + TextFile.temporarySuffix)
    #expect(machine.observed.remains.count == 1 && machine.observed.published.isEmpty && machine.observed.obstacles.isEmpty)
    #expect(machine.files.withdraw().isEmpty)
    #expect(machine.tree == before && machine.observed == ObservedProxies())
  }

  @Test("are not complete beside an unfinished one, which browsers read too")
  func unfinishedBeside() throws {
    let machine = try Machine()
    #expect(machine.files.publish([.chromium]).isEmpty)
    let full = machine.tree
    try machine.put("{}", "chromium/policies/managed/roamward-proxies.json" + TextFile.temporarySuffix)
    #expect(machine.observed.published == [] && machine.observed.remains == [.chromium])
    #expect(machine.files.publish([.chromium]).isEmpty)
    #expect(machine.tree == full && machine.observed.published == [.chromium])
  }

  @Test("leave no folder and no note, where the agent was killed before it made or removed them")
  func folders() throws {
    let machine = try Machine()
    let before = machine.tree
    let made = [machine.etc + "/chromium", machine.etc + "/chromium/policies"]
    for isThere in [false, true] {
      try TextFile.replace(machine.files.note, with: Array(made.map { $0 + "\n" }.joined().utf8), mode: 0o600)
      if isThere { try Folder.make(made[1], mode: 0o755) }
      #expect(machine.observed.remains == [.chromium])
      #expect(machine.files.withdraw().isEmpty)
      #expect(machine.tree == before)
    }
    try TextFile.replace(machine.files.note + TextFile.temporarySuffix, with: [], mode: 0o600)
    #expect(!machine.observed.remains.isEmpty)
    #expect(machine.files.withdraw().isEmpty && machine.tree == before)
  }

  @Test("leave no address in dconf's database, where the agent was killed before that was compiled")
  func stale() throws {
    let machine = try Machine()
    try machine.put("user-db:user\nsystem-db:local\n", "dconf/profile/user")
    try machine.put("[x]\ny=1\n", "dconf/db/local.d/00-site")
    Machine.compile(machine.etc)
    let before = machine.tree
    #expect(machine.files.publish([.dconf]).isEmpty)
    try TextFile.remove(machine.etc + "/dconf/db/local.d/50-roamward")
    #expect(machine.observed.remains == [.dconf])
    // Nothing can be done without dconf.
    machine.files.programs = { _ in false }
    #expect(machine.observed.remains == [])
    machine.files.programs = { $0 == "dconf" }
    #expect(machine.files.withdraw().isEmpty)
    #expect(machine.tree == before && machine.observed == ObservedProxies())
  }

  @Test("of our own folder of dconf are compiled once more without a key, so that running programs see it")
  func ownFolder() throws {
    let machine = try Machine()
    let before = machine.tree
    var databases: [String] = []
    let etc = machine.etc
    machine.files.compile = {
      Machine.compile(etc)
      databases.append(String(decoding: (try? TextFile.read("\(etc)/dconf/db/local")) ?? [], as: UTF8.self))
      return nil
    }
    #expect(machine.files.publish([.dconf]).isEmpty && databases.count == 1)
    // Nothing has changed: dconf is not run again.
    #expect(machine.files.publish([.dconf]).isEmpty && databases.count == 1)
    #expect(machine.files.withdraw().isEmpty)
    #expect(databases.count == 2 && databases[1] == "\u{1}" && machine.tree == before)
    // Killed after the file was removed.
    #expect(machine.files.publish([.dconf]).isEmpty)
    try TextFile.remove(etc + "/dconf/db/local.d/50-roamward")
    Machine.compile(etc)
    #expect(machine.observed.remains == [.dconf])
    #expect(machine.files.withdraw().isEmpty && machine.tree == before)
  }

  @Test("of one receiver that fail do not stop those of the others")
  func failing() throws {
    let machine = try Machine()
    let etc = machine.etc
    // As dconf does where another folder has an error.
    machine.files.compile = {
      Machine.compile(etc)
      return "broken"
    }
    #expect(machine.files.publish(Self.all).isEmpty)
    #expect(machine.observed.published == [.dconf, .chromium, .chrome, .firefox])
    #expect(machine.files.withdraw().isEmpty && machine.observed == ObservedProxies())
    machine.files.compile = { "broken" }
    let failures = machine.files.publish(Self.all)
    #expect(failures.keys.sorted() == [.dconf] && failures[.dconf]?.description.contains("dconf update: broken") == true)
    #expect(machine.observed.published == [.chromium, .chrome, .firefox])
    // It counts as an obstacle: nothing is tried again until its pause is over.
    let wanted = ProxyPublication(.direct, for: Self.all)
    let loop = try EventLoop()
    var failed = FailedFiles()
    func isSatisfied() -> Bool {
      var observed = machine.observed
      observed.server = .elsewhere
      failed.add(to: &observed)
      return observed.isSatisfied(by: wanted)
    }
    #expect(!isSatisfied())
    failed.take(failures, on: loop) {}
    #expect(isSatisfied())
    failed.mayTry()
    #expect(!isSatisfied())
  }

  @Test("yield to policies and profiles of an installation, which they would hide")
  func installed() throws {
    let machine = try Machine()
    let (policies, profile) = (machine.folder.path + "/firefox.json", machine.folder.path + "/user")
    #expect(machine.files.publish([.firefox, .dconf]).isEmpty)
    try TextFile.replace(policies, with: Array("{\"policies\": {}}".utf8), mode: 0o644)
    try TextFile.replace(profile, with: Array("user-db:user\nsystem-db:site\n".utf8), mode: 0o644)
    let observed = machine.observed
    #expect(observed.obstacles[.firefox]?.hasPrefix("\(policies) has policies that") == true)
    #expect(observed.obstacles[.firefox]?.contains("cure: copy it") == true)
    #expect(observed.obstacles[.dconf]?.hasPrefix("\(profile) is another program's profile; cure: copy it to") == true)
    // They were installed later: ours go.
    var elsewhere = observed
    elsewhere.server = .elsewhere
    #expect(!elsewhere.isSatisfied(by: ProxyPublication(.direct, for: [.firefox, .dconf])))
    #expect(machine.files.publish([.firefox, .dconf]).isEmpty)
    #expect(Folder.names(in: machine.etc).isEmpty && machine.observed.remains.isEmpty)
    // A profile that reads the database is enough.
    try TextFile.replace(profile, with: Array("user-db:user\nsystem-db:local\n".utf8), mode: 0o644)
    #expect(machine.files.publish([.dconf]).isEmpty && machine.observed.published == [.dconf])
    #expect(access(machine.etc + "/dconf/profile", F_OK) != 0)
  }

  @Test("do not write over a database of dconf that has no folder")
  func deployed() throws {
    let machine = try Machine()
    try machine.put("user-db:user\nsystem-db:local\n", "dconf/profile/user")
    try machine.put("compiled", "dconf/db/local")
    let before = machine.tree
    #expect(machine.files.publish([.dconf]).isEmpty && machine.tree == before)
    #expect(machine.observed.obstacles[.dconf]?.contains("cure: put its settings into") == true)
    #expect(machine.files.withdraw().isEmpty && machine.tree == before)
  }
}

/// dconf itself, run as the agent runs it.
@Suite(
  "Databases of dconf", .enabled(if: access("/usr/bin/dconf", X_OK) == 0, "dconf-cli is not installed"), .serialized)
struct DconfDatabaseTests {
  @Test("can be read by every user, although the agent's files are root's alone") func mode() throws {
    let folder = try TemporaryFolder()
    let db = folder.path + "/db"
    try Folder.make(db + "/local.d", mode: 0o755)
    try TextFile.replace(db + "/local.d/00-site", with: Array("[x]\ny=1\n".utf8), mode: 0o644)
    let before = umask(0o077)
    defer { umask(before) }
    #expect(ProxyFiles.runDconf(in: db) == nil)
    var status = stat()
    #expect(stat(db + "/local", &status) == 0 && status.st_mode & 0o777 == 0o644)
  }
}
