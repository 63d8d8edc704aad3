import ArgumentParser
import ControlProtocol
import Glibc
import JSON
import LinuxIO
import PolicyFiles
import PolicyImport
import PolicySource

struct Import: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Import policies from other VPN formats.",
    discussion: """
      Writes a policy for each tunnel, and reports for every key of the file whether it was imported, ignored or is unsupported. An \
      incomplete tunnel is written with `enabled: false`. Keys and passwords go to files that only root can read, never to the terminal.

      Reads .mobileconfig (plain or signed), .plist and JSON of declarations, wg-quick .conf, .ovpn and .nmconnection.

      Exit status: 0 imported; 1 file error, or nothing written; 2 usage error.
      """)

  @Argument(help: ArgumentHelp("Files to import.", valueName: "file"), completion: .file()) var files: [String]
  @Option(name: .shortAndLong, help: ArgumentHelp("Write to this folder.", valueName: "dir"), completion: .directory) var output = "."
  @Option(help: ArgumentHelp("Use this tunnel name instead of the one in the file.", valueName: "name")) var name: String?
  @Flag(help: "Show what would be written, without writing.") var dryRun = false
  @Flag(help: "Replace existing files.") var force = false
  @Flag(help: "Require a valid signature that this machine trusts.") var verify = false
  @Option(help: ArgumentHelp("With --verify: trust these certificates (PEM) too.", valueName: "file"), completion: .file())
  var trust: [String] = []
  @Flag(help: "Match if any DNS server of the network is listed.") var anyDnsServer = false
  @Option(help: ArgumentHelp("Read payloads of this type as VPN payloads.", valueName: "type")) var acceptPayloadType: String?
  @Flag(help: "Print JSON.") var json = false

  func validate() throws {
    if let name, !isUsableTunnelName(name) {
      throw ValidationError("a tunnel's name is 1 to 64 letters, digits, `.`, `_` and `-`, not beginning with `.` or `-`")
    }
    if name != nil, files.count > 1 { throw ValidationError("--name takes a single file; import the files one by one") }
    if !trust.isEmpty, !verify { throw ValidationError("--trust needs --verify") }
  }

  func run() throws {
    var options = ImportOptions(
      name: name, folder: absolute(output), verify: verify, trusted: trust, acceptedPayloadType: acceptPayloadType,
      reading: RuleReading(anyDNSServer: anyDnsServer))
    let manifests = ProviderManifest.folders.map { "\($0)/openvpn.yaml" }
    options.openVPN =
      manifests.lazy.compactMap { path in
        (try? TextFile.read(path)).map { ProviderManifestFile(path: path, bytes: $0) }
      }.first
    var reports: [OutcomeReport] = []
    var hasErrors = false
    let folder = absolute(output)
    options.taken = Set(files.map(absolute).filter { $0.hasPrefix("\(folder)/") }.map { String($0.dropFirst(folder.utf8.count + 1)) })
    for file in files {
      let outcome = importOne(file, options)
      hasErrors = hasErrors || outcome.hasErrors
      if json { reports.append(OutcomeReport(outcome)) } else { outcome.print(isDryRun: dryRun) }
    }
    if json { write(JSON(encoding: ImportsReport(imports: reports)).text(indented: true) + "\n") }
    if hasErrors { throw ExitStatus.policyErrors }
  }

  private func importOne(_ file: String, _ options: ImportOptions) -> Outcome {
    var outcome = Outcome(file: file)
    do {
      let bytes = try TextFile.read(file, limit: ImportLimits.file)
      let result = try importFile(bytes, file: file, options: options)
      outcome.result = result
      if let own = result.files.first(where: { absolute("\(output)/\($0.name)") == absolute(file) }) {
        throw ImportFailure(
          "nothing was written: \(own.name) would replace the imported file itself", help: "choose another folder with --output")
      }
      if !dryRun, !result.files.isEmpty { outcome.written = try writeFiles(result.files, to: output, replacing: force) }
    } catch let error as ImportFailure {
      outcome.failure = error
    } catch let error as OutputFailure {
      outcome.failure = ImportFailure("nothing was written: \(error)", help: error.exists ? "use --force to replace files" : nil)
    } catch let error as SystemError {
      outcome.failure = ImportFailure(error.reason)
    } catch {
      outcome.failure = ImportFailure("\(error)")
    }
    return outcome
  }
}

/// `1 tunnel`, `3 tunnels`.
private func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }

/// The absolute path, even if it does not exist yet.
private func absolute(_ path: String) -> String {
  if let real = realpath(path, nil) {
    defer { free(real) }
    return String(cString: real)
  }
  if path.hasPrefix("/") { return path }
  guard let here = getcwd(nil, 0) else { return path }
  defer { free(here) }
  return String(cString: here) + "/" + path
}

/// The result for one file.
private struct Outcome {
  let file: String
  var result: ImportResult?
  var written: [String] = []
  var failure: ImportFailure?

  init(file: String) { self.file = file }

  var hasErrors: Bool { failure != nil || result?.report.hasErrors == true || result?.tunnels.isEmpty == true }

  func print(isDryRun: Bool) {
    if let result {
      write(result.report.text)
      if failure == nil {
        let secrets = Set(result.files.filter(\.isSecret).map(\.name))
        for path in isDryRun ? result.files.map(\.name) : written {
          let isSecret = secrets.contains(path.split(separator: "/").last.map(String.init) ?? path)
          write("\(isDryRun ? "would write" : "wrote") \(path)\(isSecret ? " (0600)" : "")\n")
        }
        let off = result.tunnels.count { !$0.isEnabled }
        write("\(counted(result.tunnels.count, "tunnel"))\(off > 0 ? ", \(off) of them disabled" : ""): \(result.report.summary)\n")
      }
    }
    if let failure {
      writeError("\(printed(file))\(failure.line.map { ":\($0)" } ?? ""): error: \(failure.message)\n")
      if let help = failure.help { writeError("  help: \(help)\n") }
    }
  }
}

/// The output of `import --json`.
private struct ImportsReport: Encodable {
  let version = DocumentVersion()
  let imports: [OutcomeReport]
}

private struct OutcomeReport: Encodable {
  struct Tunnel: Encodable {
    struct File: Encodable {
      let name: String
      let mode: String
    }

    let name: String
    let enabled: Bool
    let files: [File]
  }

  struct Failure: Encodable {
    let message: String
    let help: String?
    let line: Int?
  }

  let file: String
  let report: ImportReport?
  let tunnels: [Tunnel]
  let written: [String]
  let error: Failure?

  init(_ outcome: Outcome) {
    file = printed(outcome.file)
    report = outcome.result?.report
    tunnels = (outcome.result?.tunnels ?? []).map { tunnel in
      Tunnel(
        name: tunnel.name, enabled: tunnel.isEnabled,
        files: tunnel.files.map { .init(name: $0.name, mode: $0.isSecret ? "0600" : "0644") })
    }
    written = outcome.written
    error = outcome.failure.map { Failure(message: $0.message, help: $0.help, line: $0.line) }
  }
}

/// A file name without terminal control characters.
private func printed(_ name: String) -> String {
  String(String.UnicodeScalarView(name.unicodeScalars.map { $0.value < 0x20 || (0x7f..<0xa0).contains($0.value) ? "\u{fffd}" : $0 }))
}
