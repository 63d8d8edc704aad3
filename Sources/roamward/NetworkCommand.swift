import Agent
import ArgumentParser
import ControlProtocol
import LinuxIO
import NetworkTypes
import RoamwardCore

struct Network: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Where this machine is: what rules would judge, now.",
    discussion: "What --json prints, `evaluate --network` reads.")

  @OptionGroup var sources: SourceOptions
  @OptionGroup var agent: AgentOptions
  @Flag(help: "Print the snapshot as JSON.") var json = false
  @Option(help: ArgumentHelp("Write the snapshot to a file that does not exist yet.", valueName: "file")) var save: String?

  func run() throws {
    let snapshot = agent.addingAnswers(to: try sources.snapshot())
    if let save { try keep(snapshot, in: save) }
    if save == nil || json { write(json ? snapshot.json.text(indented: true) + "\n" : report(snapshot)) }
    if save == nil, !json { write(agent.probeLines.map { "\(pad("probe", 12)) \($0)\n" }.joined()) }
  }

  private func keep(_ snapshot: NetworkSnapshot, in path: String) throws {
    do throws(SystemError) {
      try TextFile.create(path, with: Array((snapshot.json.text(indented: true) + "\n").utf8), mode: 0o644)
      writeError("saved in \(path); decide on it with `roamward evaluate --network \(path)`\n")
    } catch {
      writeError("roamward: \(error)\n")
      throw ExitStatus.refused
    }
  }
}
