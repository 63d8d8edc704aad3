import Agent
import ArgumentParser
import ControlProtocol
import NetworkTypes
import RoamwardCore

struct Network: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Where this machine is: what rules would judge, now.",
    discussion: "What --json prints, `evaluate --network` reads.")

  @OptionGroup var sources: SourceOptions
  @Flag(help: "Print the snapshot as JSON.") var json = false

  func run() throws {
    let snapshot: NetworkSnapshot
    do throws(WorldError) {
      snapshot = try sources.machine().observe(Need()).snapshot
    } catch {
      writeError("roamward: \(error)\n")
      throw ExitStatus.refused
    }
    write(json ? snapshot.json.text(indented: true) + "\n" : report(snapshot))
  }
}
