import AgentCore
import ArgumentParser
import ControlProtocol
import Glibc
import JSON
import LinuxIO
import LinuxPlatform
import NetworkTypes
import PolicyAuthoring
import PolicyFiles
import PolicyImport
import PolicySource
import RoamwardCore
import Terminal

struct Import: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Import policies from other VPN formats.",
    discussion: """
      Writes a policy for each tunnel, and reports for every key of the file whether it was imported, ignored or is unsupported. An \
      incomplete tunnel is written with `enabled: false`. Keys and passwords go to files that only root can read, never to the terminal.

      Reads .mobileconfig (plain or signed), .plist and JSON of declarations, wg-quick .conf, .ovpn and .nmconnection.

      Files without rules of their own get two: down on trusted networks, up on any other. --except, --except-ssid and --manual choose; \
      at a terminal the command asks, and before it writes to the current folder. Trusted networks are in \(NetworkText.fileName), for the rules of all policies.

      A per-app VPN of a phone is off until --app names its programs on this machine: units, files, or cgroup: with a path.

      Exit status: 0 imported; 1 file error, or nothing written; 2 usage error.

      Example: `roamward import work.conf --except here --dry-run`
      """)

  @Argument(help: ArgumentHelp("Files to import.", valueName: "file"), completion: .file()) var files: [String]
  @Option(name: .shortAndLong, help: ArgumentHelp("Write to this folder (default: .).", valueName: "dir"), completion: .directory)
  var output: String?
  @Option(help: ArgumentHelp("Use this tunnel name instead of the one in the file.", valueName: "name")) var name: String?
  @Flag(help: "Put the policies into force at once.") var apply = false
  @Option(
    help: ArgumentHelp("Make it a tunnel for this program alone; repeatable.", valueName: "program")
  )
  var app: [String] = []
  @OptionGroup var trusted: TrustedNetworkOptions
  @OptionGroup var sources: SourceOptions
  @OptionGroup var agent: AgentOptions
  @OptionGroup var session: SessionOptions
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
    if apply, output != nil { throw ValidationError("--apply writes to the agent's folder; leave --output out") }
    if !app.isEmpty, files.count > 1 {
      throw ValidationError("--app takes a single file: a program has one tunnel; import the files one by one")
    }
    for text in app where App(text) == nil {
      throw ValidationError(
        "--app \(escaped(text)): a program is a unit such as transmission.service or work.slice, a file's path, or cgroup:/…")
    }
    if !trust.isEmpty, !verify { throw ValidationError("--trust needs --verify") }
  }

  func run() throws {
    let isAsked = isInteractive && !json && files.contains { (try? format(of: $0))?.hasRules == false }
    let snapshot = network(isRecognised: trusted.needsNetwork || isAsked)
    var batch = ImportBatch(
      folder: absolute(output ?? "."), isApplied: apply, names: files.map(absolute), network: snapshot)
    batch.options = ImportOptions(
      name: name, folder: batch.target, verify: verify, trusted: trust, acceptedPayloadType: acceptPayloadType,
      reading: RuleReading(anyDNSServer: anyDnsServer))
    batch.options.apps = app.compactMap { App($0) }
    batch.options.openVPN = installedManifest("openvpn")
    batch.options.strongSwan = installedManifest("strongswan")
    let chosen = isAsked ? trusted.asked(snapshot) : trusted
    let formats = files.compactMap { try? format(of: $0) }
    var isReported = false
    if isInteractive, !json, !apply, output == nil, !dryRun {
      // Nobody can agree to what he has not seen.
      var shown = batch
      try shown.takeRules(chosen, formats)
      for file in files { shown.read(file) }
      if shown.hasTunnels {
        for outcome in shown.outcomes { write(outcome.result?.report.text ?? "") }
        isReported = true
        if geteuid() == 0, agent.isAnswering { batch.isApplied = confirmed("Put it into force now?", default: true) }
        let here = printed(batch.folder)
        guard batch.isApplied || confirmed("Write it to \(here)?", default: true) else {
          writeError("nothing was written; --output DIR chooses another folder, --dry-run asks nothing\n")
          throw ExitStatus.refused
        }
        batch.options.folder = batch.target
      }
    }
    try batch.takeRules(chosen, formats, isAgain: isReported)
    for file in files { batch.read(file) }
    batch.addFindings()
    let change = try ChangeOptions.parse(["--socket", agent.socket] + (session.evenSsh ? ["--even-ssh"] : []))
    if !dryRun { try batch.write(replacing: force, change) }
    if json {
      write(JSON(encoding: ImportsReport(imports: batch.outcomes.map { .init($0) })).text(indented: true) + "\n")
    } else {
      for outcome in batch.outcomes { outcome.print(isDryRun: dryRun, isApplied: batch.isApplied, isReported: isReported) }
      batch.printEffects(isDryRun: dryRun)
    }
    if batch.outcomes.contains(where: \.hasErrors) { throw ExitStatus.policyErrors }
  }

  private func installedManifest(_ name: String) -> ProviderManifestFile? {
    ProviderManifest.folders.lazy.map { "\($0)/\(name).yaml" }.compactMap { path in
      (try? TextFile.read(path)).map { ProviderManifestFile(path: path, bytes: $0) }
    }.first
  }

  private func format(of file: String) throws -> ImportFormat? {
    detectFormat(try TextFile.read(file, limit: ImportLimits.file), file: file)
  }

  /// This machine's network, as a running agent sees it; `nil` if it cannot be observed, or nothing needs it. `isRecognised`: with what it
  /// can be recognised by.
  private func network(isRecognised: Bool) -> NetworkSnapshot? {
    if isRecognised { return try? sources.seenWithGateway(with: agent).snapshot }
    return json ? nil : try? sources.seen(with: agent).snapshot
  }
}

extension ImportsReport.Imported {
  fileprivate init(_ outcome: ImportOutcome) {
    let file = printed(outcome.file)
    self.init(
      file: file, report: outcome.result.map { .init($0.report, of: file) },
      tunnels: (outcome.result?.tunnels ?? []).map { tunnel in
        .init(
          name: tunnel.name, isEnabled: tunnel.isEnabled,
          files: tunnel.files.map { .init(name: $0.name, mode: $0.isSecret ? "0600" : "0644") })
      }, written: outcome.written, error: outcome.failure.map { .init(message: $0.message, help: $0.help, line: $0.line) })
  }
}

extension ImportsReport.Report {
  fileprivate init(_ report: ImportReport, of file: String) {
    self.init(
      file: file, signature: report.signature.map { .init($0) },
      keys: report.entries.map { entry in
        .init(
          outcome: entry.outcome.rawValue, weight: entry.weight.rawValue, key: entry.key.isEmpty ? nil : entry.key, line: entry.line,
          text: entry.text)
      })
  }
}

extension ImportsReport.Signature {
  fileprivate init(_ signature: ProfileSignature) {
    let (standing, reason): (String, String?) =
      switch signature.standing {
      case .notVerified: ("not-verified", nil)
      case .verified: ("verified", nil)
      case .refuted(let reason): ("refuted", reason)
      }
    self.init(signers: signature.signers, standing: standing, reason: reason)
  }
}
