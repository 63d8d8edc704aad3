import Glibc
import PolicyFiles
import RoamwardCore
import Testing

@testable import PolicySource

@Suite struct LinuxFileSystemTests {
  @Test("real files, links, fifos and folders")
  func real() throws {
    let root = try temporaryFolder()
    defer { remove(root) }
    mkdir(root + "/a", 0o755)
    mkdir(root + "/b", 0o755)
    mkdir(root + "/b/folder.yaml", 0o755)
    write(Samples.policy, to: root + "/a/10.yaml")
    write(Samples.wireGuard, to: root + "/a/corp.conf", mode: 0o600)
    write("version: 1\nnetworks: { n: { ssid: x } }\n", to: root + "/a/masked.yaml")
    symlink("/dev/null", root + "/b/masked.yaml")
    mkfifo(root + "/b/fifo.yaml", 0o644)
    symlink("../a/10.yaml", root + "/b/link.yaml")
    let loaded = loadPolicies(layers: [root + "/a", root + "/b"], requireRootOwnership: false)
    #expect(loaded.policies.networks.map(\.name) == ["home", "trusted"])
    #expect(
      loaded.diagnostics.filter { $0.severity == .error }.map { $0.message } == [
        "this file cannot be used: it is not a regular file", "this file cannot be used: it is not a regular file",
        "network `home` is defined twice; the first is at \(root)/a/10.yaml:4:3",
        "network `trusted` is defined twice; the first is at \(root)/a/10.yaml:8:3",
        "\(root)/b/corp.conf cannot be used: No such file or directory",
        "tunnel `lab` is defined twice; the first is at \(root)/a/10.yaml:42:3",
      ])
    let masked = "\(root)/b/masked.yaml"
    #expect(loaded.ignored.contains(IgnoredFile(path: root + "/a/masked.yaml", reason: "replaced by \(masked)", replacement: masked)))
    #expect(loadPolicies(layers: [root + "/none"], requireRootOwnership: true).diagnostics.isEmpty)
    #expect(PolicyFileSystem.linux.workingDirectory().hasPrefix("/"))
  }

  @Test("no more is read than asked for")
  func limit() throws {
    let root = try temporaryFolder()
    defer { remove(root) }
    write(String(repeating: "x", count: 3 << 20), to: root + "/big.yaml")
    #expect(try PolicyFileSystem.linux.read(root + "/big.yaml", 100_000).bytes.count == 100_000)
    #expect(loadPolicies(layers: [root], requireRootOwnership: false).diagnostics.map(\.message) == ["the file is larger than 1 MiB"])
  }

  @Test("every policy that is shipped or shown loads, but those that are wrong on purpose and say so")
  func shipped() throws {
    // Keys are made when an example runs, and not kept.
    let system = Repository.files
    let walk = "examples/walk/policies"
    let shown = [["policies"], ["examples/gateway-client"], [walk], [walk, "examples/walk/drop-ins"]]
    for layers in shown {
      let loaded = loadPolicies(layers: layers.map { "\(Repository.root)/\($0)" }, files: system, requireRootOwnership: false)
      #expect(!loaded.policies.tunnels.isEmpty, "\(layers)")
      for diagnostic in loaded.diagnostics where diagnostic.severity == .error {
        let start = String(decoding: try system.read(diagnostic.location.file, 100).bytes, as: UTF8.self)
        #expect(start.hasPrefix("# Wrong on purpose"), "\(diagnostic.rendered())")
      }
    }
  }

  private func temporaryFolder() throws -> String {
    var template = Array("/tmp/roamward-policy-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Unexpected() }
    return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  private func write(_ text: String, to path: String, mode: mode_t = 0o644) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode)
    let bytes = Array(text.utf8)
    #expect(Glibc.write(descriptor, bytes, bytes.count) == bytes.count)
    close(descriptor)
  }

  private func remove(_ path: String) {
    for name in (try? PolicyFileSystem.linux.names(path)) ?? [] {
      let inner = path + "/" + name
      if unlink(inner) != 0 { remove(inner) }
    }
    rmdir(path)
  }
}
