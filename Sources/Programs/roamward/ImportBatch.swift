import ArgumentParser
import Glibc
import LinuxIO
import LinuxPlatform
import NetworkTypes
import PolicyAuthoring
import PolicyFiles
import PolicyImport
import PolicySource
import RoamwardCore
import Terminal

/// The files of one import, with the trusted networks that their rules name.
struct ImportBatch {
  /// The folder of the output.
  let folder: String
  /// Whether the policies go to the agent's folder instead.
  var isApplied: Bool
  /// The absolute paths of the imported files.
  let names: [String]
  let network: NetworkSnapshot?
  var options = ImportOptions()
  private(set) var outcomes: [ImportOutcome] = []
  /// The file of trusted networks, if the import adds to it.
  private var networks: NetworkText?
  private var hasChangedNetworks = false

  init(folder: String, isApplied: Bool, names: [String], network: NetworkSnapshot?) {
    self.folder = folder
    self.isApplied = isApplied
    self.names = names
    self.network = network
  }

  private static var inForce: String { PolicyLayers.standard.last ?? "/etc/roamward/policies" }

  /// The folder in which the policies will be.
  var target: String { isApplied ? Self.inForce : folder }

  /// The rules of files that have none, and the networks that these rules need. `isAgain`: warnings have been shown before.
  mutating func takeRules(_ trusted: TrustedNetworkOptions, _ formats: [ImportFormat], isAgain: Bool = false) throws {
    // A file that cannot be read, or is of no known format, is reported as such.
    if formats.isEmpty { return }
    if formats.allSatisfy(\.hasRules) {
      if trusted.isChosen { throw ValidationError("these files have rules of their own; --except and --except-ssid are for others") }
      return
    }
    guard !trusted.manual else { return }
    options.rules = .everywhereBut(network: trusted.network)
    var added: [Condition] = []
    if trusted.needsNetwork {
      guard let network, let evidence = NetworkEvidence(of: network) else {
        throw ValidationError("--except here: this machine is on no network that could be recognised again")
      }
      if let weakness = evidence.weakness {
        throw ValidationError("--except here: \(evidence.text): \(weakness); try again when the gateway answers, or use --except-ssid")
      }
      added.append(evidence.condition)
    }
    for ssid in trusted.exceptSsid.compactMap({ SSID($0) }) {
      let evidence = NetworkEvidence(ssid: ssid)
      if let weakness = evidence.weakness, !isAgain {
        writeError("warning: \(weakness); `roamward trust`, on the network itself, adds what is hard to forge\n")
      }
      added.append(evidence.condition)
    }
    try prepareNetworks(trusted.network, adding: added)
  }

  /// Finds the definition of the network, or begins one, and adds to it.
  private mutating func prepareNetworks(_ name: String, adding conditions: [Condition]) throws {
    // As in force, the layers of packages count too.
    let layers = target == Self.inForce ? PolicyLayers.standard : [target]
    let loaded = loadPolicies(layers: layers, files: .person, requireRootOwnership: false)
    let own = "\(target)/\(NetworkText.fileName)"
    if let defined = loaded.policies.networks.first(where: { $0.name == name }) {
      networks = try text(of: defined.location.file)
    } else if name != NetworkText.trusted {
      throw ValidationError("--except \(name): no policy in \(target) defines this network; `here` is this machine's own")
    } else if access(own, F_OK) == 0 {
      networks = try text(of: own)
      hasChangedNetworks = true
    } else if target != Self.inForce, access("\(Self.inForce)/\(NetworkText.fileName)", F_OK) == 0 {
      // Applied later, this file takes the place of the one in force, so it begins as that.
      networks = NetworkText(path: own, text: try text(of: "\(Self.inForce)/\(NetworkText.fileName)").text)
      hasChangedNetworks = true
    } else {
      networks = .fresh(path: own)
      hasChangedNetworks = true
    }
    for condition in conditions {
      do throws(TextChangeFailure) {
        if try networks?.add(condition, to: name) == true { hasChangedNetworks = true }
      } catch {
        throw ValidationError("\(networks?.path ?? own) cannot be changed by this command: \(error.reason); `roamward edit` can")
      }
    }
    if let file = networksFile { options.beside = [file] }
  }

  private func text(of path: String) throws -> NetworkText {
    do throws(SystemError) {
      return NetworkText(path: path, text: String(decoding: try TextFile.read(path), as: UTF8.self))
    } catch {
      throw ValidationError("networks are trusted already, in \(path): \(error.reason); run the command with sudo")
    }
  }

  private var networksFile: OutputFile? {
    networks.map { OutputFile(name: fileName(of: $0.path), bytes: Array($0.text.utf8), isSecret: false) }
  }

  /// Converts one file.
  mutating func read(_ file: String) {
    var outcome = ImportOutcome(file: file)
    var options = options
    let inFolder = names.filter { $0.hasPrefix("\(target)/") }.map { String($0.dropFirst(target.utf8.count + 1)) }
    options.taken = Set(inFolder)
    options.own = inFolder.first { absolute(file) == "\(target)/\($0)" && !$0.contains("/") }
    do {
      let bytes = try TextFile.read(file, limit: ImportLimits.file)
      if let own = options.own { options.beside.append(OutputFile(name: own, bytes: bytes, isSecret: true)) }
      let result = try importFile(bytes, file: file, options: options)
      outcome.result = result
      if let own = result.files.first(where: { "\(target)/\($0.name)" == absolute(file) }) {
        throw ImportFailure(
          "nothing was written: \(own.name) would replace the imported file itself", help: "choose another folder with --output")
      }
    } catch let error as ImportFailure {
      outcome.failure = error
    } catch let error as SystemError {
      outcome.failure = ImportFailure(error.reason)
    } catch {
      outcome.failure = ImportFailure("\(error)")
    }
    outcomes.append(outcome)
  }

  /// Writes the files, or puts them into force: those of each tunnel together, and the trusted networks with the first.
  mutating func write(replacing: Bool, _ change: ChangeOptions) throws {
    for i in outcomes.indices where outcomes[i].failure == nil {
      guard let result = outcomes[i].result, !result.files.isEmpty else { continue }
      var changed = hasChangedNetworks ? networksFile.map { [$0] } ?? [] : []
      if isApplied, hasChangedNetworks, let networks { changed = try change.changed(networks.path, to: networks.text) }
      let networks = changed
      do throws(OutputFailure) {
        if isApplied {
          outcomes[i].written = try apply(networks + result.files, result, replacing: replacing, change)
        } else {
          outcomes[i].written = try writeFiles(
            networks + result.files, to: folder, replacing: replacing, changing: Set(networks.map(\.name)))
          if result.tunnels.contains(where: \.usesImportedFile), makePrivate(names[i]) { outcomes[i].isMadePrivate = true }
        }
      } catch {
        outcomes[i].failure = ImportFailure("nothing was written: \(error)", help: error.exists ? "use --force to replace files" : nil)
      }
    }
  }

  /// Takes the rights of others from a file with a key. `false`: they had none.
  private func makePrivate(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & 0o077 != 0 && chmod(path, 0o600) == 0
  }

  private func apply(
    _ files: [OutputFile], _ result: ImportResult, replacing: Bool, _ change: ChangeOptions
  ) throws(OutputFailure) -> [String] {
    for file in result.files where !replacing && access("\(Self.inForce)/\(file.name)", F_OK) == 0 {
      throw OutputFailure(path: "\(Self.inForce)/\(file.name)", reason: "exists already", exists: true)
    }
    do { try change.put(files) } catch { throw OutputFailure(path: Self.inForce, reason: "the policies were not put into force") }
    return files.map { "\(Self.inForce)/\($0.name)" }
  }

  // MARK: Output

  /// Whether there is anything to put into force.
  var hasTunnels: Bool { !succeeded.isEmpty }

  private var succeeded: [ImportOutcome] { outcomes.filter { $0.failure == nil && $0.result?.tunnels.isEmpty == false } }

  /// The policies as they will be.
  private var loaded: LoadedPolicies {
    let tunnels = succeeded.flatMap { $0.result?.tunnels ?? [] }
    var files = Dictionary(tunnels.flatMap(\.files).map { ("\(target)/\($0.name)", $0.bytes) }) { first, _ in first }
    if let file = networksFile, let networks { files[networks.path] = file.bytes }
    let layers = target == Self.inForce ? PolicyLayers.standard : [target]
    return loadPolicies(layers: layers, files: .person.with(files), requireRootOwnership: false)
  }

  /// Adds to each report the findings of `roamward check` about the files that its import writes.
  mutating func addFindings() {
    let problems = PolicyProblem.all(in: loaded)
    for i in outcomes.indices where outcomes[i].failure == nil {
      let own = Set((outcomes[i].result?.files ?? []).map { "\(target)/\($0.name)" } + (networks.map { [$0.path] } ?? []))
      for problem in problems where own.contains(problem.diagnostic.location.file) {
        outcomes[i].result?.report.addFinding(problem.diagnostic.message, help: problem.diagnostic.help)
      }
    }
  }

  /// Prints the decisions of the tunnels here and on an unknown network, and the next commands.
  func printEffects(isDryRun: Bool) {
    let tunnels = succeeded.flatMap { $0.result?.tunnels ?? [] }
    guard !tunnels.isEmpty else { return }
    let policies = loaded.policies
    for (place, snapshot) in [(network.map { "here (\($0.place))" }, network), ("on an unknown network", .unknownNetwork)] {
      guard let place, let snapshot else { continue }
      for decision in policies.decisions(on: snapshot) where tunnels.contains(where: { $0.name == decision.tunnel }) {
        Terminal.write("\(decision.tunnel) \(place): \(decision.text)\n")
      }
    }
    for (i, step) in nextSteps(tunnels, isDryRun: isDryRun).enumerated() {
      Terminal.write("\(i == 0 ? "next: " : "      ")\(step.command)\(step.effect.isEmpty ? "" : "    # \(step.effect)")\n")
    }
  }

  private func nextSteps(_ tunnels: [ImportResult.Tunnel], isDryRun: Bool) -> [(command: String, effect: String)] {
    let off = tunnels.filter { !$0.isEnabled }.map { ("complete \($0.name).yaml, as its first lines say, and remove `enabled: false`", "") }
    if isDryRun { return off + [("the same command without --dry-run", "")] }
    var steps = off
    if target != Self.inForce {
      var names = tunnels.map { "\($0.name).yaml" }
      // The file of networks that the rules name goes with them: it may not be in force yet, though this import left it as it was.
      if let networks { names.insert(fileName(of: networks.path), at: 0) }
      let here = folder == absolute(".")
      steps.append(
        ("sudo roamward apply \(names.map { shellWord(here ? $0 : "\(folder)/\($0)") }.joined(separator: " "))", "puts it into force"))
    }
    steps.append(("roamward status", "which tunnels are up, and why"))
    if case .everywhereBut(let network) = options.rules {
      let name = network == NetworkText.trusted ? "" : " \(network)"
      steps.append(("sudo roamward trust\(name)", "on each network where the tunnel is to be down"))
    } else if tunnels.contains(where: \.isEnabled) {
      steps.append(("sudo roamward up \(tunnels[0].name)", "by hand"))
    }
    return steps
  }
}
