import Glibc
import PolicyFiles
import RoamwardCore
import TestSupport
import Testing

@testable import PolicySource

/// An agent that runs as root reads and runs only what root alone can have put there, along the whole way to it (docs/policy-reference.md).
@Suite("Files and programs that root trusts") struct TrustedFilesTests {
  /// The keys that name a file or a program, each with a tunnel or a network in which @ stands for it.
  static let cases: [(key: String, text: String, isProgram: Bool)] = [
    ("ssid-file", "networks: { n: { ssid-file: @ } }", false),
    ("include-file", "tunnels: { t: { provider: { command: { up: /bin/up, down: /bin/down } }, routes: { include-file: @ } } }", false),
    ("exclude-file", "tunnels: { t: { provider: { command: { up: /bin/up, down: /bin/down } }, routes: { exclude-file: @ } } }", false),
    (
      "pac-file", "tunnels: { t: { provider: { command: { up: /bin/up, down: /bin/down } }, proxy: { pac-file: @, publish: pac } } }", false
    ),
    ("config", "tunnels: { t: { provider: { wireguard: { config: @ } } } }", false),
    ("up", "tunnels: { t: { provider: { command: { up: [@, x], down: [/bin/down] } } } }", true),
    ("down", "tunnels: { t: { provider: { command: { up: [/bin/up], down: @ x } } } }", true),
    ("status", "tunnels: { t: { provider: { command: { up: [/bin/up], down: [/bin/down], status: [@] } } } }", true),
    ("name", "tunnels: { t: { provider: { installed: { name: @, insecure: accept } } } }", false),
    ("credentials", "tunnels: { t: { provider: { installed: { name: sample, credentials: { a: @ }, insecure: accept } } } }", false),
    ("program", "tunnels: { t: { provider: { installed: { name: /etc/by/manifest.yaml, insecure: accept } } } }", true),
  ]

  /// Keys whose description speaks of files or programs, and that name none on this machine.
  private static let others: Set = [
    "apps", "include", "exclude", "wireguard", "command", "installed", "history", "insecure", "names", "networkmanager", "networks",
    "options", "proxy", "profile", "publish", "search-domains", "servers", "timeout", "unit",
  ]

  @Test("each key that names a file or a program is among the cases") func everyKey() {
    let keys = KeyTable.policy.flatMap(\.keys).filter { key in
      let text = "\(key.about) \(key.expected)".lowercased()
      return ["file", "program", " path", "folder", "manifest", "certificate"].contains { text.contains($0) }
    }
    #expect(keys.count > 10)
    for key in keys { #expect(Self.cases.contains { $0.key == key.name } || Self.others.contains(key.name), "\(key.name)") }
    let manifest = manifestKeys.declarations.map(\.name)
    #expect(manifest == ["name", "about", "program", "user", "needs", "capability", "insecure", "options"])
  }

  private static let manifest = "name: sample\nabout: x\nprogram: @\nuser: nobody\ninsecure: true\noptions: { type: object }\n"

  private func contents(of text: String) -> String {
    text.contains("wireguard") ? Samples.wireGuard : text.contains("routes") ? "10.20.0.0/16\n" : "Home\n"
  }

  /// The policy of a case, with the file at `/srv/a/link`, which leads to `/opt/b/file`; `change` may spoil one of the way's status.
  private func load(
    _ text: String, _ change: @escaping @Sendable (inout PolicyFileSystem.Waypoint) -> Void = { _ in },
    onWayOf spoiled: String = "/srv/a/link"
  ) -> LoadedPolicies {
    let isManifest = text.contains("name: @")
    var files = MemoryFiles([
      "/etc/p/1.yaml": "version: 1\n" + text.replacing("@", with: "/srv/a/link"),
      "/srv/a/link": isManifest ? Self.manifest.replacing("@", with: "/bin/up") : contents(of: text),
      "/usr/lib/roamward/providers/sample.yaml": Self.manifest.replacing("@", with: "/bin/up"),
      "/etc/by/manifest.yaml": Self.manifest.replacing("@", with: "/srv/a/link"), "/bin/up": "", "/bin/down": "",
    ])
    if !text.contains("credentials") && !text.contains("wireguard") { files.files["/srv/a/link"]?.status.mode = 0o755 }
    var system = files.system
    let status = system.status
    system.way = { path throws(FileFailure) in
      let found = try status(path)
      guard path == spoiled else { return [.init(path: path, status: found)] }
      let folder = PolicyFileSystem.Status(kind: .folder, mode: 0o755)
      var points: [PolicyFileSystem.Waypoint] =
        ["/", "/srv", "/srv/a"].map { .init(path: $0, status: folder) }
        + [.init(path: "/srv/a/link", status: .init(kind: .other, mode: 0o777), isLink: true)]
        + ["/opt", "/opt/b"].map { .init(path: $0, status: folder) } + [.init(path: "/opt/b/file", status: found)]
      for i in points.indices { change(&points[i]) }
      return points
    }
    return loadPolicies(layers: ["/etc/p"], files: system, requireRootOwnership: true)
  }

  @Test("what root alone can have put there is taken", arguments: cases.map(\.text)) func trusted(text: String) {
    #expect(load(text).report == "")
    // In a folder such as /tmp, nobody replaces what is root's.
    #expect(load(text, { if $0.path == "/srv" { $0.status.mode = 0o1777 } }).report == "")
  }

  @Test("one owner or mode on the way that is another's is enough, and is told with its cure", arguments: cases.map(\.text))
  func refused(text: String) {
    for (path, cure) in [
      ("/", ""), ("/srv", ""), ("/srv/a", ""), ("/srv/a/link", "-h "), ("/opt", ""), ("/opt/b", ""), ("/opt/b/file", ""),
    ] {
      let owned = load(text, { if $0.path == path { $0.status.owner = 1000 } })
      #expect(owned.diagnostics.count == 1 && owned.report.contains("is not owned by root, but by uid 1000"), "\(path): \(owned.report)")
      if !text.contains("ssid") { #expect(owned.hasErrors && owned.report.contains("chown \(cure)root \(path)"), "\(owned.report)") }
      guard path != "/srv/a/link" else { continue }
      for (mode, who) in [(UInt32(0o775), "its group"), (0o777, "everyone")] {
        let written = load(text, { if $0.path == path { $0.status.mode = mode } })
        #expect(written.diagnostics.count == 1 && written.report.contains("can be written by \(who)"), "\(path): \(written.report)")
      }
    }
  }

  @Test("a policy itself may not be led to through a folder that others may write") func policy() {
    let loaded = load(
      "networks: { n: { ssid: x } }", { if $0.path == "/opt/b" { $0.status.mode = 0o777 } }, onWayOf: "/etc/p/1.yaml")
    #expect(loaded.hasErrors && loaded.report.contains("its folder /opt/b can be written by everyone"), "\(loaded.report)")
  }

  @Test("check tells of programs that are missing or not executable, and of what root would refuse, once for each cause") func doubts() {
    var files = MemoryFiles([
      "/etc/p/1.yaml":
        "version: 1\ntunnels: { t: { provider: { command: { up: [./up], down: [/opt/down], status: [nothing-of-this-name] } } } }\n",
      "/opt/down": "",
    ])
    var loaded = files.load(asRoot: false)
    #expect(loaded.report == "")
    #expect(
      loaded.programDoubts(files: files.system).map(\.message) == [
        "there is no program /etc/p/up", "/opt/down is not executable", "there is no program nothing-of-this-name on PATH",
      ])
    files["/etc/p/up"] = ""
    files["/usr/bin/nothing-of-this-name"] = ""
    for path in ["/etc/p/up", "/opt/down", "/usr/bin/nothing-of-this-name"] { files.files[path]?.status.mode = 0o755 }
    loaded = files.load(asRoot: false)
    #expect(loaded.programDoubts(files: files.system).isEmpty && loaded.ownershipDoubts(files: files.system).isEmpty)
    files.files["/etc/p/up"]?.status.mode = 0o777
    #expect(
      files.load(asRoot: false).ownershipDoubts(files: files.system).map(\.message) == [
        "an agent that runs as root would refuse /etc/p/up: it can be written by everyone"
      ])
    #expect(files.load().report.contains("/etc/p/up cannot be used: it can be written by everyone"))
  }

  @Test("on random trees of folders and links, the same as namei(1) shows", .enabled(if: geteuid() == 0, "root alone gives files away"))
  func namei() throws {
    let root = try shell("mktemp --directory").split(separator: "\n").joined()
    defer { _ = try? shell("rm -rf '\(root)'") }
    var refused = 0
    for round in 0..<150 {
      // Folders in one another, links to them by absolute and relative paths, and a file at the end.
      var place = "\(root)/\(round)"
      var script = "mkdir '\(place)'\n"
      var path = place
      for level in 0..<Int.random(in: 1...4) {
        let folder = "\(place)/f\(level)"
        script += "mkdir '\(folder)'\n"
        switch Int.random(in: 0..<4) {
        case 0: script += "ln -s '\(folder)' '\(place)/l'\n"
        case 1: script += "ln -s f\(level) '\(place)/l'\n"
        case 2: script += "ln -s ./f\(level)/../f\(level) '\(place)/l'\n"
        default: script += "mkdir '\(place)/m'; ln -s ../f\(level) '\(place)/m/l'; ln -s m/l '\(place)/l'\n"
        }
        path += Bool.random() ? "/l" : "/f\(level)"
        place = folder
      }
      script += "touch '\(place)/file'\n"
      path += "/file"
      let change = ["true", "chown 1000", "chmod g+w", "chmod o+w", "chmod 1777"][round % 5]
      script += "find '\(root)/\(round)' ! -type l | shuf -n 1 | xargs -r \(change)\n"
      if round % 7 == 0 { script += "find '\(root)/\(round)' -type l | shuf -n 1 | xargs -r chown -h 1000\n" }
      try shell(script)
      let lines = try shell("namei -l '\(path)' | tail -n +2").split(separator: "\n").map { $0.split(separator: " ") }
      let isSafe = lines.allSatisfy { words in
        let mode = Array(words[0])
        guard words[1] == "root" else { return false }
        if mode[0] == "l" || mode[0] == "d" && "tT".contains(mode[9]) { return true }
        return mode[5] != "w" && mode[8] != "w"
      }
      if !isSafe { refused += 1 }
      #expect(try (PolicyFileSystem.linux.refusal(ofPath: path) == nil) == isSafe, "\(script)\n\(lines)")
    }
    #expect((20...130).contains(refused), "\(refused) of 150")
  }
}
