import PolicyFiles
import RoamwardCore
import TestSupport
import Testing

@testable import PolicySource

/// `check`, `evaluate`, `plan` and others of an ordinary user: a file that only root may read is not known, and never wrong.
@Suite("Files that this user may not read") struct UnreadFilesTests {
  private static let manifest = "name: sample\nabout: x\nprogram: /bin/up\nuser: nobody\ninsecure: true\noptions: { type: object }\n"

  /// Loads files, of which those in `denied` may not be looked at.
  private func load(_ texts: [String: String], denied: Set<String>, asPerson: Bool = true) -> LoadedPolicies {
    let manifests = ["/usr/lib/roamward/providers/sample.yaml": Self.manifest, "/etc/by/manifest.yaml": Self.manifest]
    let base = MemoryFiles(manifests.merging(texts) { $1 }).system
    var system = base
    let refusal = FileFailure("Permission denied", cause: .denied)
    system.names = { path throws(FileFailure) in
      if denied.contains(path) { throw refusal }
      return try base.names(path)
    }
    system.status = { path throws(FileFailure) in
      if denied.contains(path) { throw refusal }
      return try base.status(path)
    }
    system.read = { path, limit throws(FileFailure) in
      if denied.contains(path) { throw refusal }
      return try base.read(path, limit)
    }
    system.leavesUnread = asPerson
    return loadPolicies(layers: ["/etc/p"], files: system, requireRootOwnership: false)
  }

  @Test("each key that names a file or a program: no problem, and the file is named once", arguments: TrustedFilesTests.cases.map(\.key))
  func everyKey(key: String) throws {
    let found = try #require(TrustedFilesTests.cases.first { $0.key == key })
    let policy = "version: 1\n" + found.text.replacing("@", with: "/srv/hidden")
    let loaded = load(["/etc/p/1.yaml": policy], denied: ["/srv/hidden"])
    #expect(loaded.report == "", "\(loaded.report)")
    #expect(loaded.unread.map(\.path) == (found.isProgram ? [] : ["/srv/hidden"]))
    #expect(loaded.unreadNote == (found.isProgram ? nil : "/srv/hidden cannot be looked at as this user: run with sudo"))
    #expect(loaded.programDoubts(files: MemoryFiles().system).allSatisfy { !$0.message.contains("/srv/hidden") || found.isProgram })
    // A tunnel is there, unless nothing is known of its provider.
    #expect(loaded.policies.tunnels.count == (found.text.contains("tunnels:") && key != "name" ? 1 : 0))
    #expect(loaded.unreadPolicies.isEmpty == (key != "name"))
    // An agent has to read it.
    let agent = load(["/etc/p/1.yaml": policy], denied: ["/srv/hidden"], asPerson: false)
    #expect(agent.unread.isEmpty && (agent.report == "") == found.isProgram, "\(agent.report)")
  }

  @Test("the cure of an unreadable file is not that of a wrong path") func cure() {
    let policy = "version: 1\ntunnels: { t: { provider: { wireguard: { config: corp.conf } } } }\n"
    let loaded = load(["/etc/p/1.yaml": policy], denied: ["/etc/p/corp.conf"], asPerson: false)
    #expect(loaded.hasErrors && loaded.diagnostics.first?.help == "run the command with sudo")
  }

  @Test("settings that need the tunnel's own name servers are not called wrong while its file is unread") func names() {
    for dns in ["match-domains: [corp.example]", "match-domains: [corp.example], names: capture"] {
      let policy = "version: 1\ntunnels: { t: { provider: { wireguard: { config: corp.conf } }, dns: { \(dns) } } }\n"
      let loaded = load(["/etc/p/1.yaml": policy], denied: ["/etc/p/corp.conf"])
      #expect(loaded.report == "" && loaded.policies.tunnels.first?.provider.isUnread == true, "\(loaded.report)")
    }
  }

  @Test("beside a policy, a folder of policies or a manifest that is unread, networks and tunnels that are missing are no errors")
  func policies() {
    let texts = [
      "/etc/p/1.yaml": "version: 1\nnetworks: { home: { ssid: x } }\n",
      "/etc/p/2.yaml":
        "version: 1\ntunnels: { t: { provider: { command: { up: [/bin/up], down: [/bin/down] } }, through: outer, on-demand: "
        + "{ rules: [{ match: { network: home }, action: connect }] } } }\n",
    ]
    let loaded = load(texts, denied: ["/etc/p/1.yaml"])
    #expect(loaded.report == "" && loaded.unreadPolicies == ["/etc/p/1.yaml"] && loaded.files.count == 2, "\(loaded.report)")
    #expect(load(texts, denied: []).report.contains("there is no tunnel"))
    let folder = load(texts, denied: ["/etc/p"])
    #expect(folder.report == "" && folder.unreadPolicies == ["/etc/p"])
    #expect(load(texts, denied: ["/etc/p"], asPerson: false).hasErrors)
  }
}
