import ArgumentParser
import KernelModel
import KernelNetwork
import NetworkTypes
import RoamwardCore

/// Replaces the firewall's table again and again, as a network that changes does. Wants a network namespace of its own, and leaves the
/// table there.
struct FirewallCommand: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "firewall", abstract: "Change what a kill switch holds back, many times.")

  @Option(help: "How many changes.") var rounds = 500
  @Flag(help: "Put the table up and end: what follows is measured behind it.") var only = false

  func run() throws {
    let backend = try NftablesBackend()
    let tables = try (1...2).map(table)
    try backend.replace(tables[0])
    if only { return }
    var changes = Series()
    for i in 1...rounds { changes.values.append(try measure { try backend.replace(tables[i % 2]) }.wall) }
    print(
      Row(
        what: "a change of the kill switch, \(rounds) times under a flood", ours: changes.summary, peer: "target: 10 ms",
        ratio: changes.median / 10, bar: "1.00", remark: "the slowest \((changes.values.max() ?? 0).text(digits: 1)) ms"))
  }

  /// Everything is guarded; a neighbourhood that comes with the network is let through.
  private func table(_ network: Int) throws -> FirewallTable {
    guard let neighbours = IPPrefix("192.168.\(network).0/24") else { throw BenchmarkError("no prefix") }
    return FirewallTable(
      guards: [.init(tunnel: "corp", prefixes: [.everything(.v4), .everything(.v6)])],
      insides: [.init(link: "corp", addresses: [IPAddress(v4: 0x0a4d_0002)])], neighbours: [neighbours], allowsLAN: true)
  }
}
