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
    let snapshot = try sources.snapshot()
    write(json ? snapshot.json.text(indented: true) + "\n" : report(snapshot))
  }
}
