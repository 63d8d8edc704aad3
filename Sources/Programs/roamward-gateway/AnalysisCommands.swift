import ArgumentParser
import GatewayCore
import GatewayHost
import GatewayPage
import GatewayStore
internal import HostFindings
import JSON
import KernelModel
import LinuxIO
import NetworkTypes
import Terminal

struct Status: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Show the gateway, its pools and its devices.",
    discussion: """
      Sessions need root.

      Example: `roamward-gateway status`
      """)
  @Flag(help: "Print JSON, as the page reads it.") var json = false
  @OptionGroup var state: StateOptions

  func run() throws {
    let status = try HostExamination(state.folder).status()
    write(json ? [JSON(encoding: status.report()).text(indented: true)] : status.lines)
  }
}

/// A packet that commands ask about.
struct PacketOptions: ParsableArguments {
  @Argument(help: ArgumentHelp("The user, or the device.", valueName: "user[/device]"), completion: .holders) var holder: Holder
  @Argument(help: ArgumentHelp("The address, with a port or without.", valueName: "address[:port]")) var destination: DestinationArgument
  @Option(help: "tcp, udp or icmp (tcp where a port is given, else icmp).") var `protocol`: Transport?
  @Flag(help: "Print JSON.") var json = false
  @OptionGroup var state: StateOptions

  private var transport: Transport { `protocol` ?? (destination.port == nil ? .icmp : .tcp) }

  /// Shows the path of a device's packet, or what the rules say of a user's. Returns whether it passes.
  func answer(_ lines: (AccessDecision, Directory) -> [String]) throws -> Bool {
    switch holder {
    case .user(let name):
      let directory = try directory(of: name)
      let question = try question(on: name, in: directory)
      let decision = AccessDecision(question, in: directory)
      let document = JSON(encoding: directory.page(of: question, within: .max))
      write(json ? [document.text(indented: true)] : lines(decision, directory))
      return decision.isAllowed
    case .device(let path):
      let directory = try directory(of: path.user)
      guard let found = directory.device(at: path) else {
        throw Failure.refused("there is no device \(path)\n  help: `roamward-gateway device list` lists the devices")
      }
      let evaluation = PacketEvaluation(
        directory, found, to: destination.address, transport, port: destination.port, at: Timestamp.now.wholeSecond,
        path: { HostRoutes().path(from: $0, to: destination.address, in: directory) })
      write(json ? [JSON(encoding: EvaluationDocument(evaluation)).text(indented: true)] : evaluation.lines)
      return evaluation.passes
    }
  }

  /// Shows the verdict of each rule on a packet of a device's user.
  func rules(_ lines: (AccessDecision, Directory) -> [String]) throws {
    guard case .device(let path) = holder, !json else { return }
    let directory = try directory(of: path.user)
    write(lines(AccessDecision(try question(on: path.user, in: directory), in: directory), directory))
  }

  private func directory(of user: GatewayName) throws -> Directory {
    try state.directory(.users([user], addresses: [destination.address]))
  }

  private func question(on name: GatewayName, in directory: Directory) throws -> AccessQuestion {
    guard let user = directory.user(named: name) else { throw GatewayError.noUser(name) }
    return AccessQuestion(user: user.id, destination: destination.address, transport: transport, port: destination.port)
  }
}

struct Evaluate: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "evaluate",
    abstract: "Show whether a user or a device may reach an address.",
    discussion: """
      Of a user, it is what the rules of access say; of a device, the path of its packet through all that can stop it.

      Exit status: 0 it passes; 1 it is stopped.

      Example: `roamward-gateway evaluate alice/phone 10.20.1.2:443`
      """)
  @OptionGroup var packet: PacketOptions

  func run() throws {
    if try !packet.answer({ [$0.text(in: $1)] }) { throw ExitStatus.refused }
  }
}

struct Explain: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "explain",
    abstract: "Show each rule that was evaluated, and why it did not match.",
    discussion: """
      Of a device, the path of its packet comes first.

      Example: `roamward-gateway explain alice 10.20.1.2:443`
      """)
  @OptionGroup var packet: PacketOptions

  func run() throws {
    _ = try packet.answer { $0.explanation(in: $1) }
    try packet.rules { $0.explanation(in: $1) }
  }
}

struct Plan: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "plan",
    abstract: "Show what the gateway would change on this machine.",
    discussion: """
      What the files of this gateway change comes first, with the old and the new value, and whom it concerns. Empty: nothing is left \
      to do. Needs root.

      Example: `roamward-gateway plan`
      """)
  @Flag(help: "Print the whole firewall table.") var table = false
  @Flag(help: "Print JSON.") var json = false
  @OptionGroup var files: FileOptions

  func run() throws {
    let examination = try HostExamination(files.state.folder)
    if table { return write(try examination.desired().table.transaction) }
    let change = files.declared.hasFiles ? try files.declared.effect(of: try files.load()) : nil
    let steps = try examination.leftSteps()
    guard json else { return write((change.map(\.lines) ?? []) + steps) }
    let files = change.map { ChangeSummary(joining: $0.parts).document(isMade: false, connected: $0.connected) }
    write([JSON(encoding: PlanDocument(files: files, steps: steps)).text(indented: true)])
  }
}

struct Doctor: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Find problems of the gateway, each with a cure.",
    discussion: """
      Exit status: 0 no problems; 1 problems. Needs root. It asks the OpenID provider and the PAM service of logins; a check that \
      runs every minute leaves them out with --offline.

      Example: `roamward-gateway doctor`
      """)
  @Flag(help: "Print JSON.") var json = false
  @Flag(help: "Ask no OpenID provider and no PAM service.") var offline = false
  @OptionGroup var state: StateOptions

  func run() throws {
    let findings = try HostExamination(state.folder).condition(isOffline: offline).findings
    if json {
      let all = findings.map {
        FindingsDocument.Finding(check: $0.check, severity: $0.severity.rawValue, message: $0.message, cure: $0.cure)
      }
      write([JSON(encoding: FindingsDocument(all)).text(indented: true)])
    } else {
      write(findings.isEmpty ? ["no problems found"] : findings.map(text(of:)))
    }
    if !findings.isEmpty { throw ExitStatus.refused }
  }

  private func text(of finding: HostFinding) -> String {
    finding.cure.map { "\(finding.message)\n  help: \($0)" } ?? finding.message
  }
}

struct Audit: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "audit",
    abstract: "Show the audit log, verify or export it.",
    discussion: """
      --verify shows the first entry that was changed. Removing the newest entries leaves a valid chain: compare the number and the hash \
      with those that you keep elsewhere. --export prints all entries, one a line, with their hashes.

      Exit status: 0 success, intact; 1 broken.

      Example: `roamward-gateway audit --lines 20`
      """)
  @Option(name: .shortAndLong, help: "The number of entries.") var lines: Int?
  @Flag(help: "Verify the chain of entries.") var verify = false
  @Flag(help: "Print all entries with their hashes.") var export = false
  @Flag(help: "Print JSON.") var json = false
  @OptionGroup var state: StateOptions

  func validate() throws {
    if [lines != nil || json, verify, export].count(where: { $0 }) > 1 {
      throw ValidationError("--lines and --json are about the newest entries: give --verify or --export alone")
    }
  }

  func run() throws {
    let store = try state.folder.store()
    if verify { return try verify(store) }
    if export { return try exportAll(of: store) }
    let entries = try store.newestEntries(max(0, lines ?? 20))
    write(json ? [JSON(encoding: AuditReport(entries, within: .max)).text(indented: true)] : entries.map(\.line))
  }

  private func verify(_ store: GatewayStore) throws {
    let found = try store.verifyAudit()
    let head = found.head.map(hexadecimal).joined()
    write("\(found.intact) entries intact, last hash \(head)\n")
    guard let broken = found.broken else { return }
    throw Failure.refused("audit log: entry \(broken) is not as it was written, or one before it is missing")
  }

  private func exportAll(of store: GatewayStore) throws {
    var last: Int64 = 0
    while true {
      let part = try store.entries(after: last)
      guard let end = part.last else { return }
      write(part.map { "\($0.line)  \($0.hash.map(hexadecimal).joined())" })
      last = end.sequence
    }
  }
}

extension AuditEntry {
  /// Names of refused logins are strangers' words, which must not look like further lines.
  var line: String {
    let text =
      "\(sequence)  \(time)  \(record.actor)  \(record.verb) \(record.object)"
      + (record.detail.isEmpty ? "" : "  (\(record.detail))")
    return escaped(text, keepingLines: false)
  }
}
