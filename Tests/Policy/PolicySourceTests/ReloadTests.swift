import Glibc
import PolicyFiles
import RoamwardCore
import SeededRandom
import Testing

@testable import PolicySource

@Suite("A reload parses only changed files, and its result is that of a load of everything") struct ReloadTests {
  @Test("any sequence of edits, removals, renames, links and modes, of policies and of the files that they name", arguments: 1...6)
  func equalsFreshLoad(seed: UInt64) throws {
    var folders = try RandomFolders(seed: seed)
    defer { folders.remove() }
    // Every version counts as settled, because each edit waits for the next tick of the file system's clock.
    let files = PolicyFileSystem.linux { .max }
    var parsed = ParsedPolicies()
    var lastKnownGood: LastKnownGoodPolicies?
    for step in 0..<250 {
      let what = folders.change()
      let layers = folders.layers
      let time = Int64(step)
      let loaded = loadPolicies(
        layers: layers, files: files, requireRootOwnership: geteuid() == 0, lastKnownGood: lastKnownGood, at: time, reusing: &parsed)
      let fresh = loadPolicies(layers: layers, files: files, requireRootOwnership: geteuid() == 0, lastKnownGood: lastKnownGood, at: time)
      try #require(loaded.isSame(as: fresh), "step \(step): \(what)\n\(loaded.report)\n--\n\(fresh.report)")
      lastKnownGood = loaded.lastKnownGood ?? lastKnownGood
    }
  }

  @Test(
    "files that have not changed are refused when others may write a folder above them", .enabled(if: geteuid() == 0, "only root refuses"))
  func wayOfUnchanged() throws {
    let root = try temporaryFolder()
    defer { removeFolder(root) }
    for folder in ["up", "up/p", "other"] { mkdir("\(root)/\(folder)", 0o755) }
    let (path, elsewhere) = ("\(root)/up/p/1.yaml", "\(root)/other/1.yaml")
    write("version: 1\nnetworks: { n: { ssid: x } }\n", to: path)
    awaitTick(in: root)
    let files = PolicyFileSystem.linux { .max }
    var parsed = ParsedPolicies()
    func report() -> String { loadPolicies(layers: ["\(root)/up/p"], files: files, requireRootOwnership: true, reusing: &parsed).report }
    func spoiled(_ folder: String) -> Bool {
      chmod(folder, 0o777)
      defer { chmod(folder, 0o755) }
      return report().contains("its folder \(folder) can be written by everyone")
    }
    #expect(report() == "")
    for folder in ["\(root)/up", "\(root)/up/p"] {
      #expect(spoiled(folder))
      #expect(report() == "")
    }
    // The same file by a link counts by its own way too.
    rename(path, elsewhere)
    symlink(elsewhere, path)
    #expect(report() == "")
    #expect(spoiled("\(root)/other") && spoiled("\(root)/up"))
    #expect(report() == "")
  }

  @Test("an unchanged file is not read again, nor is one whose neighbour changed") func readsOnce() throws {
    let root = try temporaryFolder()
    defer { removeFolder(root) }
    for i in 0..<5 { write("version: 1\nnetworks: { n\(i): { ssid-file: list } }\n", to: "\(root)/\(i).yaml") }
    write("Home\n", to: root + "/list")
    let counter = Counter()
    var files = PolicyFileSystem.linux { .max }
    files.read = { [read = files.read] path, limit throws(FileFailure) in
      counter.paths.append(String(path.dropFirst(root.count + 1)))
      return try read(path, limit)
    }
    var parsed = ParsedPolicies()
    func reload() -> [String] {
      counter.paths = []
      #expect(loadPolicies(layers: [root], files: files, requireRootOwnership: false, reusing: &parsed).report == "")
      return counter.paths.sorted()
    }
    #expect(reload().count == 10)
    #expect(reload() == [])
    awaitTick(in: root)
    write("version: 1\nnetworks: { other: { ssid: x } }\n", to: root + "/3.yaml")
    #expect(reload() == ["3.yaml"])
    awaitTick(in: root)
    write("Work\n", to: root + "/list")
    #expect(reload() == ["0.yaml", "1.yaml", "2.yaml", "4.yaml", "list", "list", "list", "list"])
  }

  @Test("a file that changes again within one tick of the clock is read again") func withinOneTick() throws {
    let root = try temporaryFolder()
    defer { removeFolder(root) }
    var parsed = ParsedPolicies()
    for i in 0..<500 {
      // In place and of the same length: only the times could tell, and they have the granularity of a tick.
      write("version: 1\nnetworks: { n\(i % 2): { ssid: x } }\n", to: root + "/1.yaml")
      let loaded = loadPolicies(layers: [root], requireRootOwnership: false, reusing: &parsed)
      #expect(loaded.policies.networks.map(\.name) == ["n\(i % 2)"])
    }
  }

  @Test("a version is settled two seconds after the last change") func settled() {
    let version = FileVersion(device: 1, inode: 2, size: 3, modified: 0, changed: 10_000_000_000)
    #expect(!version.isSettled(at: 10_000_000_000) && !version.isSettled(at: 12_000_000_000) && version.isSettled(at: 12_000_000_001))
    // After a step of the clock.
    #expect(!version.isSettled(at: 1_000_000_000))
  }

  @Test("a file that was parsed with other settings is read again") func settings() throws {
    let root = try temporaryFolder()
    defer { removeFolder(root) }
    write("version: 1\n", to: root + "/1.yaml", mode: 0o666)
    let files = PolicyFileSystem.linux { .max }
    var parsed = ParsedPolicies()
    #expect(!loadPolicies(layers: [root], files: files, requireRootOwnership: false, reusing: &parsed).hasErrors)
    #expect(loadPolicies(layers: [root], files: files, requireRootOwnership: true, reusing: &parsed).hasErrors)
  }
}

private final class Counter: @unchecked Sendable { var paths: [String] = [] }

extension LoadedPolicies {
  fileprivate func isSame(as other: LoadedPolicies) -> Bool {
    policies == other.policies && diagnostics == other.diagnostics && dependencies == other.dependencies && files == other.files
      && ignored == other.ignored && read == other.read && lastKnownGoodUse == other.lastKnownGoodUse
      && lastKnownGood == other.lastKnownGood
  }
}

/// Two layers of policies, and files that they name, which change at random.
private struct RandomFolders {
  private var random: SplitMix64
  let root: String
  private var hasSecondLayer = true

  init(seed: UInt64) throws {
    random = SplitMix64(seed: seed)
    root = try temporaryFolder()
    for folder in ["a", "b"] { mkdir("\(root)/\(folder)", 0o755) }
    for _ in 0..<20 { _ = change() }
  }

  var layers: [String] { hasSecondLayer ? ["\(root)/a", "\(root)/b"] : ["\(root)/a"] }

  func remove() { removeFolder(root) }

  /// Makes one change, and returns what it was.
  mutating func change() -> String {
    awaitTick(in: root)
    let isOfPolicy = random.chance(0.6)
    let path = isOfPolicy ? policyPath() : namedPath()
    switch Int(random.next() % 14) {
    case 0...5:
      write(isOfPolicy ? policyText() : namedText(), to: path)
      return "write \(path)"
    case 6:
      unlink(path)
      return "remove \(path)"
    case 7:
      let other = isOfPolicy ? policyPath() : namedPath()
      rename(path, other)
      return "rename \(path) to \(other)"
    case 8:
      let target = random.pick([policyPath(), namedPath(), "/dev/null", "missing"])
      unlink(path)
      symlink(target, path)
      return "link \(path) to \(target)"
    case 9:
      let mode = random.pick([0o600, 0o644, 0o666] as [mode_t])
      setMode(mode, of: path)
      return "mode \(mode) of \(path)"
    case 10:
      var times = [timeval(tv_sec: 1, tv_usec: 0), timeval(tv_sec: Int(random.next() % 2), tv_usec: 0)]
      if isRegular(path) { utimes(path, &times) }
      return "touch \(path)"
    case 11:
      // As an editor: a new file with the old name, and here even with the old times.
      let text = isOfPolicy ? policyText() : namedText()
      var status = stat()
      stat(path, &status)
      write(text, to: path + ".new")
      var times = [timeval(tv_sec: status.st_atim.tv_sec, tv_usec: 0), timeval(tv_sec: status.st_mtim.tv_sec, tv_usec: 0)]
      utimes(path + ".new", &times)
      rename(path + ".new", path)
      return "replace \(path)"
    case 12:
      let other = isOfPolicy ? policyPath() : namedPath()
      unlink(other)
      link(path, other)
      return "second name \(other) of \(path)"
    default:
      hasSecondLayer.toggle()
      return "layers"
    }
  }

  private mutating func policyPath() -> String { "\(root)/\(random.pick(["a", "b"]))/\(random.next() % 5).yaml" }

  private mutating func namedPath() -> String { "\(root)/\(random.pick(["a", "b"]))/\(random.pick(["x.conf", "y.conf", "list", "more"]))" }

  private mutating func policyText() -> String {
    if random.chance(0.1) { return random.pick(["", "# nothing\n", "nonsense", "version: 2\n", "version: 1\nunknown: 1\n"]) }
    var text = "version: 1\nnetworks:\n"
    for i in 0..<4 where random.chance(0.3) {
      text += "  n\(i): { \(random.pick(["ssid: Home", "ssid: Work", "ssid:", "network: n\(random.next() % 4)", "ssid-file: list"])) }\n"
    }
    text += "tunnels:\n"
    for i in 0..<4 where random.chance(0.3) {
      let provider = random.pick(["wireguard: { config: x.conf }", "wireguard: { config: y.conf }", "command: { up: bin/u, down: /d }"])
      let match = random.pick(["ssid: Home", "network: n\(random.next() % 4)", "ssid-file: \(random.pick(["list", "more"]))", "ssid:"])
      let action = random.pick(["connect", "disconnect", "ignore"])
      text += "  t\(i):\n    provider: { \(provider) }\n    on-demand: { rules: [ { match: { \(match) }, action: \(action) } ] }\n"
    }
    return text
  }

  private mutating func namedText() -> String {
    random.pick([Samples.wireGuard, Samples.wireGuard + "# other\n", "[Interface]\nPrivateKey = x\n", "Home\n", "Work\n", " Home \n", ""])
  }
}

/// Waits until the file system gives a change another time than the last one: a file that is watched closely may get one at once, and any
/// other at the next tick of the coarse clock (Linux 6.13).
private func awaitTick(in folder: String) {
  func coarse() -> timespec {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME_COARSE, &time)
    return time
  }
  let tick = coarse()
  while coarse().tv_nsec == tick.tv_nsec { usleep(200) }
  func touched() -> timespec {
    write("", to: folder + "/tick")
    var status = stat()
    stat(folder + "/tick", &status)
    return status.st_ctim
  }
  let first = touched()
  var next = first
  while next.tv_sec == first.tv_sec, next.tv_nsec == first.tv_nsec { next = touched() }
}

private func temporaryFolder() throws -> String {
  var template = Array("/tmp/roamward-reload-XXXXXX".utf8CString)
  guard mkdtemp(&template) != nil else { throw Unexpected() }
  return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

private func write(_ text: String, to path: String, mode: mode_t = 0o644) {
  let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode)
  guard descriptor >= 0 else { return }
  let bytes = Array(text.utf8)
  _ = Glibc.write(descriptor, bytes, bytes.count)
  close(descriptor)
  setMode(mode, of: path)
}

/// Sets the mode of a regular file. The machine's `/dev/null`, to which some names lead, keeps its own.
private func setMode(_ mode: mode_t, of path: String) {
  if isRegular(path) { chmod(path, mode) }
}

private func isRegular(_ path: String) -> Bool {
  var status = stat()
  return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
}

private func removeFolder(_ path: String) {
  for name in (try? PolicyFileSystem.linux.names(path)) ?? [] {
    let inner = path + "/" + name
    if unlink(inner) != 0 { removeFolder(inner) }
  }
  rmdir(path)
}
