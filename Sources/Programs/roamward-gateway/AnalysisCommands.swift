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

struct Evaluate: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "evaluate",
    abstract: "Show the path of a device's packet through the rules.",
    discussion: """
      Exit status: 0 it passes; 1 it is stopped.

      Example: `roamward-gateway evaluate alice/phone 10.20.1.2:443`
      """)
  @Argument(help: ArgumentHelp("The device.", valueName: "user/device")) var device: DevicePath
  @Argument(help: ArgumentHelp("The address, with a port or without.", valueName: "address[:port]")) var destination: DestinationArgument
  @Option(help: "tcp, udp or icmp (tcp where a port is given, else icmp).") var `protocol`: Transport?
  @Flag(help: "Print JSON.") var json = false
  @OptionGroup var state: StateOptions

  func run() throws {
    let directory = try state.directory(.users([device.user], addresses: [destination.address]))
    guard let found = directory.device(at: device) else {
      throw Failure.refused("there is no device \(device)\n  help: `roamward-gateway device list` lists the devices")
    }
    let transport = `protocol` ?? (destination.port == nil ? .icmp : .tcp)
    let evaluation = PacketEvaluation(
      directory, found, to: destination.address, transport, port: destination.port, at: Timestamp.now.wholeSecond,
      path: { HostRoutes().path(from: $0, to: destination.address, in: directory) })
    write(json ? [JSON(encoding: EvaluationDocument(evaluation)).text(indented: true)] : evaluation.lines)
    if !evaluation.passes { throw ExitStatus.refused }
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
      Exit status: 0 no problems; 1 problems. Needs root.

      Example: `roamward-gateway doctor`
      """)
  @Flag(help: "Print JSON.") var json = false
  @OptionGroup var state: StateOptions

  func run() throws {
    let findings = try HostExamination(state.folder).condition().findings
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
    abstract: "Show and verify the audit log.", subcommands: [Tail.self, Verify.self, Export.self], defaultSubcommand: Tail.self)

  struct Tail: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "tail",
      abstract: "Show the newest entries.",
      discussion: "Example: `roamward-gateway audit tail --lines 20`")
    @Option(name: .shortAndLong, help: "The number of entries.") var lines = 20
    @Flag(help: "Print JSON.") var json = false
    @OptionGroup var state: StateOptions

    func run() throws {
      let entries = try state.folder.store().newestEntries(max(0, lines))
      write(json ? [JSON(encoding: AuditReport(entries, within: .max)).text(indented: true)] : entries.map(\.line))
    }
  }

  struct Verify: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "verify",
      abstract: "Verify the chain, and show the first entry that was changed.",
      discussion: """
        Removing the newest entries leaves a valid chain: compare the number and the hash with those that you keep elsewhere. Exit \
        status: 0 intact; 1 broken.

        Example: `roamward-gateway audit verify`
        """)
    @OptionGroup var state: StateOptions

    func run() throws {
      let found = try state.folder.store().verifyAudit()
      let head = found.head.map(hexadecimal).joined()
      write("\(found.intact) entries intact, last hash \(head)\n")
      guard let broken = found.broken else { return }
      throw Failure.refused("audit log: entry \(broken) is not as it was written, or one before it is missing")
    }
  }

  struct Export: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "export",
      abstract: "Export all entries, one a line, with their hashes.",
      discussion: "Example: `roamward-gateway audit export`")
    @OptionGroup var state: StateOptions

    func run() throws {
      let store = try state.folder.store()
      var last: Int64 = 0
      while true {
        let part = try store.entries(after: last)
        guard let end = part.last else { return }
        write(part.map { "\($0.line)  \($0.hash.map(hexadecimal).joined())" })
        last = end.sequence
      }
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
