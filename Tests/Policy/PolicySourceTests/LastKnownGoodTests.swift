import PolicyFiles
import RoamwardCore
import Testing

@testable import PolicySource

@Suite("What has errors now is as it was when it was good") struct LastKnownGoodTests {
  private func tunnel(_ name: String, _ rules: String = "{ action: connect }") -> String {
    "version: 1\ntunnels:\n  \(name):\n    provider: { wireguard: { config: corp.conf } }\n    on-demand: { rules: [\(rules)] }\n"
  }

  private var good: MemoryFiles {
    var files = MemoryFiles([
      "/etc/p/10-a.yaml": tunnel("a"), "/etc/p/20-b.yaml": tunnel("b"), "/etc/p/corp.conf": Samples.wireGuard,
      "/usr/p/30-c.yaml": tunnel("c"),
    ])
    files["/etc/p/30-c.yaml"] = ""
    files["/usr/p/corp.conf"] = Samples.wireGuard
    return files
  }

  private func load(_ files: MemoryFiles, after lastKnownGood: LastKnownGoodPolicies?, at time: Int64 = 2) -> LoadedPolicies {
    loadPolicies(layers: ["/usr/p", "/etc/p"], files: files.system, requireRootOwnership: true, lastKnownGood: lastKnownGood, at: time)
  }

  private func lastKnownGood() throws -> LastKnownGoodPolicies { try #require(load(good, after: nil, at: 1).lastKnownGood) }

  private func names(_ loaded: LoadedPolicies) -> [String] { loaded.policies.tunnels.map(\.name) }

  @Test("without errors nothing of before counts, and what has not changed is as old as it was") func withoutErrors() throws {
    var files = good
    files["/etc/p/20-b.yaml"] = tunnel("b", "{ action: disconnect }")
    let loaded = load(files, after: try lastKnownGood())
    #expect(loaded.lastKnownGoodUse == nil && names(loaded) == ["a", "b"])
    #expect(loaded.lastKnownGood?.files["/etc/p/20-b.yaml"]?.since == 2 && loaded.lastKnownGood?.files["/etc/p/10-a.yaml"]?.since == 1)
    #expect(load(good, after: try lastKnownGood()).lastKnownGood == (try lastKnownGood()))
  }

  @Test("without a set of before nothing is in force") func nothingBefore() {
    var files = good
    files["/etc/p/20-b.yaml"] = "nonsense: 1\n"
    let loaded = load(files, after: nil)
    #expect(loaded.hasErrors && loaded.lastKnownGoodUse == nil && loaded.lastKnownGood == nil)
  }

  @Test("a tunnel with a credential, of which no copy is kept, is in the last good set") func credential() throws {
    var files = good
    files["/etc/p/20-b.yaml"] = """
      version: 1
      tunnels:
        b:
          provider: { installed: { name: sample, options: { server: "a:1" }, credentials: { password: secret }, insecure: accept } }
      """
    files["/etc/p/secret"] = "hunter2\n"
    files["/usr/lib/roamward/providers/sample.yaml"] = InstalledProviderReaderTests.manifest
    let before = load(files, after: nil, at: 1)
    #expect(before.diagnostics.isEmpty && before.lastKnownGood?.files["/etc/p/secret"] == nil, "\(before.diagnostics)")
    files["/etc/p/10-a.yaml"] = tunnel("a") + "nonsense: 1\n"
    let broken = load(files, after: before.lastKnownGood)
    #expect(names(broken) == ["a", "b"] && broken.lastKnownGoodUse != nil)
    let again = load(files, after: broken.lastKnownGood, at: 3)
    #expect(names(again) == ["a", "b"] && again.lastKnownGoodUse == broken.lastKnownGoodUse)
    // The whole set, from the copies alone.
    files["/etc/p/20-b.yaml"] = "nonsense: 1\n"
    #expect(names(load(files, after: broken.lastKnownGood, at: 4)) == ["a", "b"])
  }

  @Test("a broken file is replaced, what was edited well or removed counts, and the next time it is the same") func perFile() throws {
    var files = good
    files["/etc/p/20-b.yaml"] = tunnel("b") + "nonsense: 1\n"
    files["/etc/p/10-a.yaml"] = nil
    let loaded = load(files, after: try lastKnownGood())
    #expect(loaded.hasErrors && names(loaded) == ["b"])
    #expect(loaded.lastKnownGoodUse == .files([ReplacedFile(path: "/etc/p/20-b.yaml", line: 6, since: 1)]))
    let again = load(files, after: loaded.lastKnownGood, at: 3)
    #expect(
      again.policies == loaded.policies && again.lastKnownGoodUse == loaded.lastKnownGoodUse && again.lastKnownGood == loaded.lastKnownGood)
    files = good
    files["/etc/p/20-b.yaml"] = "nonsense: 1\n"
    files["/etc/p/10-a.yaml"] = tunnel("a", "{ action: disconnect }")
    let edited = load(files, after: try lastKnownGood())
    #expect(names(edited) == ["a", "b"] && edited.policies.tunnels[0].onDemand.rules[0].action == .disconnect)
  }

  @Test("a file of WireGuard's that is broken, gone or anybody's to write is replaced too") func dependencies() throws {
    var files = good
    files["/etc/p/corp.conf"] = "[Interface]\nPrivateKey = x\n"
    var loaded = load(files, after: try lastKnownGood())
    #expect(names(loaded) == ["a", "b"])
    guard case .files(let replacedFiles) = loaded.lastKnownGoodUse else { Issue.record("\(loaded.lastKnownGoodUse as Any)"); return }
    #expect(replacedFiles.map(\.path) == ["/etc/p/corp.conf"] && replacedFiles.first?.line == 2)
    files["/etc/p/corp.conf"] = nil
    loaded = load(files, after: try lastKnownGood())
    #expect(names(loaded) == ["a", "b"] && loaded.lastKnownGoodUse != nil)
    files = good
    files.files["/etc/p/corp.conf"]?.status.mode = 0o666
    loaded = load(files, after: try lastKnownGood())
    #expect(names(loaded) == ["a", "b"] && loaded.lastKnownGoodUse != nil)
  }

  @Test("a good version of a file that names a new broken one is enough: other files that it names stay as they are", arguments: 0..<20)
  func brokenWithWhatItNames(_: Int) throws {
    var files = MemoryFiles(["/etc/p/1.yaml": "version: 1\nnetworks: { n: { ssid-file: list } }\n", "/etc/p/list": "Home\n"])
    let lastKnownGood = try #require(load(files, after: nil, at: 1).lastKnownGood)
    // Both the policy and the file that it names now are broken. The order in which they are found must not matter.
    files["/etc/p/1.yaml"] = tunnel("a") + "nonsense: 1\n"
    files["/etc/p/corp.conf"] = "nonsense"
    files["/etc/p/list"] = "Work\n"
    let loaded = load(files, after: lastKnownGood)
    #expect(loaded.lastKnownGoodUse == .files([ReplacedFile(path: "/etc/p/1.yaml", line: 6, since: 1)]))
  }

  @Test("a file that never was good is not there, unless it may be what became of one that is gone") func neverGood() throws {
    var files = good
    files["/etc/p/40-d.yaml"] = "nonsense: 1\n"
    var loaded = load(files, after: try lastKnownGood())
    #expect(
      loaded.lastKnownGoodUse == .files([ReplacedFile(path: "/etc/p/40-d.yaml", line: 1, since: nil)]) && names(loaded) == ["a", "b"])
    files["/etc/p/20-b.yaml"] = nil
    loaded = load(files, after: try lastKnownGood())
    #expect(loaded.lastKnownGoodUse == .wholeSet(since: 1) && names(loaded) == ["a", "b"])
    // Moved from one file into another that is broken.
    files = good
    files["/etc/p/10-a.yaml"] = tunnel("b")
    files["/etc/p/20-b.yaml"] = tunnel("a") + "nonsense: 1\n"
    loaded = load(files, after: try lastKnownGood())
    #expect(loaded.lastKnownGoodUse == .wholeSet(since: 1) && names(loaded) == ["a", "b"])
  }

  @Test("what was masked stays masked when the mask is broken") func masks() throws {
    var files = good
    files["/etc/p/30-c.yaml"] = "nonsense: 1\n"
    let loaded = load(files, after: try lastKnownGood())
    #expect(names(loaded) == ["a", "b"] && loaded.lastKnownGoodUse == .files([ReplacedFile(path: "/etc/p/30-c.yaml", line: 1, since: 1)]))
  }

  @Test("folders that cannot be trusted or read leave all as it was") func folders() throws {
    var files = good
    files.folders["/etc/p"]?.mode = 0o777
    let loaded = load(files, after: try lastKnownGood())
    #expect(names(loaded) == ["a", "b"] && loaded.lastKnownGoodUse == .wholeSet(since: 1))
  }

  @Test("a set that was for other folders is none") func otherFolders() throws {
    let files = MemoryFiles(["/opt/p/1.yaml": "nonsense: 1\n"])
    let loaded = loadPolicies(
      layers: ["/opt/p"], files: files.system, requireRootOwnership: true, lastKnownGood: try lastKnownGood(), at: 2)
    #expect(loaded.policies.tunnels.isEmpty)
  }
}
