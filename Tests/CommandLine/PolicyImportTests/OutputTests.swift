import Glibc
import PolicyFiles
import PolicySource
import RoamwardCore
import Testing

@testable import PolicyImport

@Suite struct OutputTests {
  private let files = [
    OutputFile(name: "corp.conf", bytes: Array("key".utf8), isSecret: true),
    OutputFile(name: "corp.yaml", bytes: Array("version: 1\n".utf8), isSecret: false),
  ]

  @Test("secrets are for root alone, nothing is replaced unasked, and a failure leaves nothing") func writing() throws {
    let folder = try temporaryFolder()
    defer { remove(folder) }
    let previous = umask(0)
    defer { umask(previous) }
    #expect(try writeFiles(files, to: folder, replacing: false) == ["\(folder)/corp.conf", "\(folder)/corp.yaml"])
    #expect(mode("\(folder)/corp.conf") == 0o600 && mode("\(folder)/corp.yaml") == 0o644)
    #expect(throws: OutputFailure.self) { try writeFiles(files, to: folder, replacing: false) }
    unlink("\(folder)/corp.conf")
    #expect(throws: OutputFailure.self) { try writeFiles(files, to: folder, replacing: false) }
    #expect(mode("\(folder)/corp.conf") == nil)
    #expect(try writeFiles(files, to: folder, replacing: true).count == 2)
    #expect(names(folder) == ["corp.conf", "corp.yaml"])
  }

  @Test("where the last of them cannot be replaced, the others are as they were") func undoing() throws {
    let folder = try temporaryFolder()
    defer {
      rmdir("\(folder)/corp.yaml")
      remove(folder)
    }
    _ = try writeFiles([OutputFile(name: "corp.conf", bytes: Array("old".utf8), isSecret: true)], to: folder, replacing: false)
    mkdir("\(folder)/corp.yaml", 0o755)
    #expect(throws: OutputFailure.self) { try writeFiles(files, to: folder, replacing: true) }
    #expect(try text("\(folder)/corp.conf") == "old" && mode("\(folder)/corp.conf") == 0o600)
    #expect(names(folder) == ["corp.conf", "corp.yaml"])
    #expect(try writeFiles([files[0]], to: folder, replacing: true).count == 1)
    #expect(try text("\(folder)/corp.conf") == "key" && names(folder) == ["corp.conf", "corp.yaml"])
  }

  @Test("a link in the place of a file is not followed") func links() throws {
    let folder = try temporaryFolder()
    defer { remove(folder) }
    let target = "\(folder)/target"
    #expect(symlink(target, "\(folder)/corp.conf") == 0)
    #expect(throws: OutputFailure.self) { try writeFiles(files, to: folder, replacing: false) }
    #expect(try writeFiles(files, to: folder, replacing: true).count == 2)
    #expect(mode(target) == nil && mode("\(folder)/corp.conf") == 0o600)
  }

  @Test("what was written loads from the disk") func loading() throws {
    let folder = try temporaryFolder()
    defer { remove(folder) }
    var result = try importFile(Array(Samples.wireGuard.utf8), file: "corp.conf", options: ImportOptions())
    _ = try writeFiles(result.files, to: folder, replacing: false)
    result = try importFile(fixture("trusted-office.mobileconfig"), file: "x.mobileconfig", options: ImportOptions())
    _ = try writeFiles(result.files, to: folder, replacing: false)
    let loaded = loadPolicies(layers: [folder], requireRootOwnership: false)
    #expect(!loaded.hasErrors && loaded.policies.tunnels.map(\.name) == ["corp-office", "corp"])
  }

  @Test(
    "the names of tunnels", arguments: [("Corp VPN", "corp-vpn"), ("../../etc", "etc"), ("  Ä-Ö ", nil), ("a_b.c", "a-b-c"), ("", nil)])
  func tunnelNames(text: String, name: String?) { #expect(tunnelName(from: text) == name) }

  private func temporaryFolder() throws -> String {
    var template = Array("/tmp/policy-import-XXXXXX".utf8CString)
    return try #require(
      template.withUnsafeMutableBufferPointer { buffer in buffer.baseAddress.flatMap { mkdtemp($0) }.map { String(cString: $0) } })
  }

  private func remove(_ folder: String) {
    for name in names(folder) { unlink("\(folder)/\(name)") }
    rmdir(folder)
  }

  private func names(_ folder: String) -> [String] {
    guard let stream = opendir(folder) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
  }

  private func text(_ path: String) throws -> String {
    let stream = try #require(fopen(path, "r"))
    defer { fclose(stream) }
    var bytes = [UInt8](repeating: 0, count: 64)
    let count = fread(&bytes, 1, bytes.count, stream)
    return String(decoding: bytes.prefix(count), as: UTF8.self)
  }

  private func mode(_ path: String) -> UInt32? {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
  }
}
