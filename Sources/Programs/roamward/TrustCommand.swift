import ArgumentParser
import NetworkTypes
import PolicyAuthoring
import PolicyFiles
import PolicySource
import RoamwardCore
import Terminal

struct Trust: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "trust",
    abstract: "Add this machine's network to a named network.",
    discussion: """
      Rules then treat the network as the named one, such as `match: { network: trusted }, action: disconnect`. The network is \
      recognised by the strongest evidence that there is: its gateway's hardware address, else the access point's, together with the \
      SSID and the security of a Wi-Fi network. A network that anyone could imitate is refused without --weak.

      Without a name, the network is the one that rules with `disconnect` name, or `\(NetworkText.trusted)`. The file that defines it is \
      changed; its other lines stay as they are.

      Example: `roamward trust home --dry-run`
      """)

  @OptionGroup var change: ChangeOptions
  @OptionGroup var sources: SourceOptions
  @Argument(help: ArgumentHelp("Named network to add to.", valueName: "name")) var name: String?
  @Option(help: ArgumentHelp("Require an answer of this URL too.", valueName: "url")) var probe: String?
  @Option(help: ArgumentHelp("Key of the probe's server: sha256//….", valueName: "pin")) var pin: String?
  @Flag(help: "Accept evidence that any network can show.") var weak = false
  @Flag(help: "Show the change without making it.") var dryRun = false

  func validate() throws { if pin != nil, probe == nil { throw ValidationError("--pin needs --probe") } }

  func run() throws {
    let loaded = try change.load()
    let name = try networkToChange(name, in: loaded.policies)
    let snapshot = try sources.seenWithGateway(with: change.agent).snapshot
    guard let evidence = NetworkEvidence(of: snapshot, probe: probe.map { Probe(url: $0, pins: pin.map { [$0] } ?? []) }) else {
      throw ValidationError("this machine is on no network that could be recognised again")
    }
    if let weakness = evidence.weakness {
      writeError("\(weak ? "warning" : "roamward"): \(evidence.text): \(weakness)\n")
      if !weak {
        writeError("help: try again when the gateway answers, add --probe URL --pin PIN, or accept it with --weak\n")
        throw ExitStatus.refused
      }
    }
    if let remark = evidence.remark { writeError("note: \(remark)\n") }
    var file = try change.definition(of: name, in: loaded)
    let isNew: Bool
    do throws(TextChangeFailure) { isNew = try file.add(evidence.condition, to: name) } catch {
      throw change.refusal(error, file: file.path, of: name, adding: evidence.condition)
    }
    guard isNew else {
      write("this network is part of `\(name)` already (\(file.path)): \(evidence.text)\n")
      return
    }
    try change.finish(file, named: name, before: loaded, on: snapshot, dryRun: dryRun) {
      "this network \(dryRun ? "would be" : "is now") part of `\(name)` (\($0)): \(evidence.text)"
    }
  }
}

struct Untrust: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "untrust",
    abstract: "Remove this machine's network from a named network.",
    discussion: """
      Removes every entry of the named network that matches here. `roamward edit NAME` changes entries of other places.

      Example: `roamward untrust home`
      """)

  @OptionGroup var change: ChangeOptions
  @OptionGroup var sources: SourceOptions
  @Argument(help: ArgumentHelp("Named network to remove from.", valueName: "name")) var name: String?
  @Flag(help: "Show the change without making it.") var dryRun = false

  func run() throws {
    let loaded = try change.load()
    let name = try networkToChange(name, in: loaded.policies)
    let snapshot = try sources.seenWithGateway(with: change.agent).snapshot
    guard let network = loaded.policies.networks.first(where: { $0.name == name }) else {
      throw ValidationError("no policy defines a network `\(name)`; `roamward list` shows those that are defined")
    }
    let places = NetworkDefinition(network).matches(on: snapshot, networks: loaded.policies.networks)
    guard !places.isEmpty else {
      writeError("roamward: this network is not part of `\(name)` (\(network.location.file))\n")
      throw ExitStatus.refused
    }
    var file = try change.definition(of: name, in: loaded)
    do throws(TextChangeFailure) { try file.remove(places, from: name) } catch {
      throw change.refusal(error, file: file.path, of: name, adding: nil)
    }
    try change.finish(file, named: name, before: loaded, on: snapshot, dryRun: dryRun) {
      "this network \(dryRun ? "would no longer be" : "is no longer") part of `\(name)` (\($0))"
    }
  }
}

/// The named network that a command without a name changes.
private func networkToChange(_ name: String?, in policies: PolicySet) throws -> String {
  if let name { return name }
  let named = policies.networksToDisconnectOn
  if named.isEmpty || named.contains(NetworkText.trusted) { return NetworkText.trusted }
  guard named.count == 1 else {
    throw ValidationError("rules disconnect on several networks (\(named.joined(separator: ", "))); name one of them")
  }
  return named[0]
}

extension ChangeOptions {
  /// The file that defines the network, or the one that is to define it.
  fileprivate func definition(of name: String, in loaded: LoadedPolicies) throws -> NetworkText {
    if let network = loaded.policies.networks.first(where: { $0.name == name }) {
      return NetworkText(path: network.location.file, text: try text(of: network.location.file))
    }
    let path = "\(layers.last ?? ".")/\(NetworkText.fileName)"
    guard loaded.files.contains(path) else { return .fresh(path: path, network: name) }
    return NetworkText(path: path, text: try text(of: path))
  }

  fileprivate func refusal(_ failure: TextChangeFailure, file: String, of name: String, adding condition: Condition?) -> ExitCode {
    writeError("roamward: \(file) cannot be changed by this command: \(failure.reason)\n")
    let entry = condition.map { PolicyPrinter.listEntry(of: $0, indent: 6) }
    let cure = entry.map { "add this to `any-of` of the network:\n\($0)" } ?? "remove the entry there\n"
    writeError("help: `roamward edit \(name)`, and \(cure)")
    return ExitStatus.refused
  }

  /// Puts the changed file into force, and says what the tunnels then do here.
  fileprivate func finish(
    _ file: NetworkText, named name: String, before: LoadedPolicies, on snapshot: NetworkSnapshot, dryRun: Bool,
    _ report: (_ path: String) -> String
  ) throws {
    let base = fileName(of: file.path)
    let files = try changed(file.path, to: file.text)
    let after = try load(with: files)
    if !dryRun { try put(files) }
    write(report("\(layers.last ?? ".")/\(base)") + "\n")
    let old = before.policies.decisions(on: snapshot)
    for decision in after.policies.decisions(on: snapshot) {
      let was = old.first { $0.tunnel == decision.tunnel && $0.text != decision.text }
      write("\(decision.tunnel): \(decision.text)\(was.map { " (before: \($0.text))" } ?? "")\n")
    }
    if !after.policies.networksInRules.contains(name) {
      write("note: no rule names the network `\(name)` yet; a rule for it: - { match: { network: \(name) }, action: disconnect }\n")
    }
  }
}
