import RoamwardCore
import Testing

@testable import PolicySource

/// Properties of every provider that a policy can name, also of one that is new in `providerKeys`.
@Suite("Each provider of a policy") struct EachProviderTests {
  static let kinds = providerKeys.declarations.map { ($0.name, $0.example) }

  /// The one in the example of `installed`.
  private static let manifest = """
    name: plain-udp
    about: Packets in plain datagrams.
    program: /usr/lib/plain-udp
    user: roamward-provider
    insecure: true
    needs: [device, udp]
    options: { type: object, properties: { server: { type: string }, address: { type: string } } }
    """

  private func provider(_ text: String) throws -> ProviderConfiguration {
    let loaded = load(text, ["/usr/lib/roamward/providers/plain-udp.yaml": Self.manifest])
    return try #require(loaded.hasErrors ? nil : loaded.policies.tunnels.first?.provider, "\(loaded.report)\n\(text)")
  }

  @Test("has the name of its key, and is printed so that it reads back", arguments: kinds)
  func printed(name: String, example: String) throws {
    let text = "version: 1\ntunnels: { t: { provider: { \(name): \(example) } } }\n"
    let read = try provider(text)
    #expect(read.name == name)
    let tunnel = TunnelPolicy(name: "t", provider: read, onDemand: OnDemand(), location: Place(file: "", line: 1, column: 1))
    #expect(try provider(PolicyPrinter.yaml(tunnels: [PrintableTunnel(tunnel)])) == read)
  }

  @Test("has a table of its keys in the reference", arguments: kinds) func table(name: String, example: String) {
    #expect(KeyTable.policy.contains { $0.subject == "the `\(name)` provider" })
  }
}
