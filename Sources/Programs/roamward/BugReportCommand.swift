import ArgumentParser
import BugReport
import Glibc
import LinuxIO
import NetworkTypes
import PolicySource
import StatusDisplay
import Terminal

struct Bugreport: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bugreport",
    abstract: "Create an archive for a bug report, without secrets.",
    discussion: """
      Collects what this program, the journal and the system's own tools show, and the policies. Of documents, only the values of keys that \
      are known to be harmless are kept: no comments, no arguments of programs. Free text is searched for keys, passwords and tokens. --hide-places also replaces SSIDs, hardware addresses, names of hosts \
      and public addresses by pseudonyms, the same in the whole report.

      Run it as root for a complete report. Read the archive before you send it: no program knows every secret.

      Example: `roamward bugreport --hide-places --output report.tar.gz`
      """)

  @OptionGroup var agent: AgentOptions
  @OptionGroup var policies: PolicyOptions
  @OptionGroup var sources: SourceOptions
  @Flag(help: "Replace SSIDs, hosts and public addresses by pseudonyms.") var hidePlaces = false
  @Flag(help: "Show what the archive would have; write nothing.") var list = false
  @Option(name: .shortAndLong, help: ArgumentHelp("Write to this new file.", valueName: "file"), completion: .file(extensions: ["gz"]))
  var output: String?

  func run() throws {
    let collected = try collect()
    let contents = redact(collected)
    write(contents.map(\.line).joined())
    if list { return }
    let name = "roamward-bugreport-\(Timestamp.now.localTime.filter(\.isNumber))"
    let path = output ?? "\(name).tar.gz"
    do throws(SystemError) {
      try archive(contents, as: name, to: path)
    } catch {
      writeError("roamward: \(error)\n")
      throw ExitStatus.refused
    }
    write("\(path): \(contents.count) files, only you can read it; look into it before you send it: tar --extract --file \(path)\n")
  }

  private func collect() throws -> [CollectedFile] {
    let progress = ProgressLine()
    defer { progress.clear() }
    let programs = ReportSource.own(socket: agent.socket, policies: policies.policies, sources) + ReportSource.system
    var files = programs.map { source in
      progress.show("collecting: \(source.file)")
      return source.collect()
    }
    progress.show("collecting: policies")
    files += try policyFiles()
    files += ["/etc/os-release", sources.resolvConf].map { CollectedFile(reading: $0) }
    return files
  }

  private func policyFiles() throws -> [CollectedFile] {
    let loaded = try policies.loadAll()
    let paths = (loaded.files + loaded.dependencies).reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }
    return paths.map { path in
      // Other files may be secrets as a whole.
      ReportFormat(ofFile: path).map { CollectedFile(reading: path, as: $0) } ?? CollectedFile(withholding: path)
    }
  }

  private func redact(_ files: [CollectedFile]) -> [RedactedFile] {
    var name = [CChar](repeating: 0, count: 256)
    gethostname(&name, 255)
    let host = String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    var redactor = Redactor(hidesPlaces: hidePlaces, hosts: [host])
    let documents = files.map { Disclosure($0.text, as: $0.format) }
    for file in files where file.isLearnt { redactor.learn(file.text) }
    for document in documents { redactor.learn(secrets: document?.secrets ?? []) }
    for file in files { redactor.learnNetworks(file.networks) }
    return zip(files, documents).map { file, document in
      var (text, findings) = redactor.redact(document?.text ?? file.text)
      findings.secrets += document?.leftOut ?? 0
      return RedactedFile(name: file.name, text: text, findings: findings)
    }
  }

  /// tar(1) reads redacted files alone, from a folder that only this user can read.
  private func archive(_ files: [RedactedFile], as name: String, to path: String) throws(SystemError) {
    var contents: [String: [UInt8]] = [:]
    for file in files { contents[file.name] = Array(file.text.utf8) }
    let folder = try PrivateFolder("roamward-bugreport-", contents)
    let number = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard number >= 0 else { throw .last("create \(path)") }
    let archive = FileDescriptor(owning: number)
    let arguments = [
      "--create", "--gzip", "--owner=root:0", "--group=root:0", "--directory=\(folder.path)", "--transform=s,^,\(name)/,", "--",
    ]
    let tar = try CapturedProgram(
      "tar", arguments + files.map(\.name), environment: ReportSource.environment, limit: .seconds(60), output: archive)
    guard tar.status == 0 else {
      unlink(path)
      throw SystemError(code: EIO, operation: "tar: \(String(decoding: tar.output, as: UTF8.self))")
    }
  }
}

/// A redacted file of a bug report.
private struct RedactedFile {
  let name: String
  let text: String
  let findings: Redactor.Findings

  /// `status.txt: 1.2 KiB, 2 values left out`.
  var line: String {
    var parts = [size(Int64(text.utf8.count))]
    if findings.secrets > 0 { parts.append("\(findings.secrets) value\(findings.secrets == 1 ? "" : "s") left out") }
    if findings.pseudonyms > 0 { parts.append("\(findings.pseudonyms) pseudonym\(findings.pseudonyms == 1 ? "" : "s")") }
    return "  \(name): \(parts.joined(separator: ", "))\n"
  }
}
