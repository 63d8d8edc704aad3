import AgentCore
import ArgumentParser
import LinuxIO
import LinuxPlatform
import PolicySource
import RoamwardCore
import Terminal

/// The sources of the facts of a dry run.
struct FactOptions: ParsableArguments {
  @Flag(help: "Use this machine's network (default without --set).") var live = false
  @Option(help: ArgumentHelp("Use a network saved by `roamward network --save`.", valueName: "file"), completion: .file()) var network:
    String?
  @Option(
    help: ArgumentHelp(
      "Set a fact: interface=wifi, ssid=Cafe …; repeatable.", discussion: "It replaces the fact of --live or --network.",
      valueName: "key=value"), completion: .facts)
  var set: [String] = []
  @Option(help: ArgumentHelp("Assume a probe's result: ok, fail, unknown; repeatable.", valueName: "url=result"))
  var assumeProbe: [String] = []
  @OptionGroup var sources: SourceOptions
  @OptionGroup var agent: AgentOptions

  func validate() throws {
    if live, network != nil { throw ValidationError("--live and --network exclude each other; use one of them") }
  }

  /// The snapshot to evaluate. Unreadable facts are printed and end the program with status 2.
  func snapshot() throws -> NetworkSnapshot {
    var snapshot = try base()
    let problems = applySettings(set, to: &snapshot) + assumeProbe.compactMap { applyProbeAssumption($0, to: &snapshot) }
    for problem in problems { writeError(problem.rendered(color: usesColor) + "\n") }
    if problems.contains(where: { $0.severity == .error }) { throw ExitStatus.usage }
    return snapshot
  }

  /// Whether the facts are those of this machine's network.
  var isOfThisMachine: Bool { network == nil && (live || set.isEmpty) }

  private func base() throws -> NetworkSnapshot {
    if let network { return try saved(network) }
    return live || set.isEmpty ? agent.addingAnswers(to: try sources.snapshot()) : NetworkSnapshot()
  }

  private func saved(_ path: String) throws -> NetworkSnapshot {
    let bytes: [UInt8]
    do throws(SystemError) {
      bytes = try TextFile.read(path == "-" ? "/dev/stdin" : path)
    } catch {
      writeError("roamward: \(error)\n")
      throw ExitStatus.policyErrors
    }
    let (snapshot, problems) = readSnapshot(text: bytes, file: path)
    for problem in problems { writeError(problem.rendered(color: usesColor) + "\n") }
    guard let snapshot else { throw ExitStatus.policyErrors }
    return snapshot
  }
}

/// Files to read instead of the machine's own.
struct SourceOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Read the current SSID from this file.", valueName: "file"), completion: .file()) var ssidFile: String?
  @Option(help: ArgumentHelp("Path of resolv.conf.", valueName: "file"), completion: .file()) var resolvConf = "/etc/resolv.conf"
  @Option(help: ArgumentHelp("Path of the agent's state folder.", valueName: "folder"), completion: .directory) var stateDir =
    "/var/lib/roamward"

  /// This machine's network, now.
  func snapshot() throws -> NetworkSnapshot {
    try observation().snapshot
  }

  /// The same, with the sources of the facts. Programs of the host have a second or two to answer.
  func observation() throws -> Observation {
    let machine = try machine()
    machine.settle(.all)
    do throws(PlatformError) {
      return try machine.observe(ObservationRequest())
    } catch {
      writeError("roamward: \(error)\n")
      throw ExitStatus.refused
    }
  }

  /// True if these are the machine's own files, which an agent reads too.
  var areUsual: Bool { ssidFile == nil && resolvConf == "/etc/resolv.conf" && stateDir == "/var/lib/roamward" }

  func machine() throws -> LinuxMachine {
    do throws(PlatformError) {
      return try LinuxMachine(ssidFile: ssidFile, resolvConf: resolvConf, stateDirectory: stateDir)
    } catch {
      writeError("roamward: \(error)\n")
      throw ExitStatus.refused
    }
  }
}
