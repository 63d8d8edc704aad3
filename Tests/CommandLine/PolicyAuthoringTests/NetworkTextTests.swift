import NetworkTypes
import PolicyFiles
import PolicySource
import RoamwardCore
import Testing

@testable import PolicyAuthoring

private let hardware = [MACAddress("02:00:5e:10:00:09")].compactMap(\.self)

private let office = Condition.all([.ssid([SSID("Office")].compactMap(\.self)), .gatewayMAC(hardware)])
private let line = #"- { ssid: Office, gateway-mac: "02:00:5e:10:00:09" }"#

/// Changes of a named network in the text of a policy file.
@Suite struct NetworkTextTests {
  /// The text before, and after `office` was added to the network `home`.
  static let additions: [(before: String, after: String)] = [
    // A list of entries gets one more; comments and all other lines stay.
    (
      """
      # mine
      version: 1
      networks:
        home:   # ours
          any-of:
            - { ssid: Home }       # the living room
            # the garden
            - { ssid: Garden }
        # about work
        work: { ssid: Work }
      tunnels: {}
      """,
      """
      # mine
      version: 1
      networks:
        home:   # ours
          any-of:
            - { ssid: Home }       # the living room
            # the garden
            - { ssid: Garden }
            \(line)
        # about work
        work: { ssid: Work }
      tunnels: {}
      """
    ),
    // One condition becomes a list with it.
    (
      """
      version: 1
      networks:
          home: { ssid: [Home, "Home 5G"] }

          work: { ssid: Work }
      """,
      """
      version: 1
      networks:
          home:
            any-of:
              - { ssid: [Home, Home 5G] }
              \(line)

          work: { ssid: Work }
      """
    ),
    // Criteria over several lines too; their comments stay in front.
    (
      """
      version: 1
      networks:
        home:
          ssid: Home   # gone with its line
          # kept
          subnet: 192.168.7.0/24
      """,
      """
      version: 1
      networks:
        home:
          # kept
          any-of:
            - { ssid: Home, subnet: 192.168.7.0/24 }
            \(line)
      """
    ),
    // A network that is not defined yet comes first.
    (
      """
      version: 1
      networks:
        work: { ssid: Work }
      """,
      """
      version: 1
      networks:
        home:
          any-of:
            \(line)
        work: { ssid: Work }
      """
    ),
    (
      "version: 1   # the only one\ntunnels: {}\n",
      "version: 1   # the only one\n\nnetworks:\n  home:\n    any-of:\n      \(line)\ntunnels: {}\n"
    ),
    // The place of the first network.
    (
      "version: 1\nnetworks:\n  home:\n    any-of:\n      - { gateway-mac: 00:00:00:00:00:00 }  # none yet\n",
      "version: 1\nnetworks:\n  home:\n    any-of:\n      \(line)\n"
    ),
  ]

  @Test("a network is added, and every other line stays", arguments: additions)
  func adds(before: String, after: String) throws {
    var file = NetworkText(path: "/p/10-a.yaml", text: before)
    #expect(try file.add(office, to: "home"))
    #expect(file.text == after)
    // Twice is once.
    #expect(try !file.add(office, to: "home"))
    #expect(file.text == after)
  }

  @Test("a removed network leaves the others, and the last one a place", arguments: additions.prefix(3))
  func removes(before: String, after: String) throws {
    var file = NetworkText(path: "/p/10-a.yaml", text: after)
    let network = try #require(file.networks.first { $0.name == "home" })
    let there = LinkFacts(
      name: "w", type: .known(.wifi), ssid: .known(SSID("Office")), gatewayMAC: .known(hardware.first))
    let places = NetworkDefinition(network).matches(on: NetworkSnapshot(primary: "w", links: [there]), networks: file.networks)
    #expect(places.count == 1)
    try file.remove(places, from: "home")
    #expect(!file.text.contains("Office"))
    let home = try #require(file.networks.first { $0.name == "home" })
    try file.remove(Array(NetworkDefinition(home).alternatives.indices), from: "home")
    #expect(file.text.contains("no network yet"))
    let last = try #require(file.networks.first { $0.name == "home" })
    #expect(!Evaluator(networks: [last]).isOn(anyOf: ["home"], .unknownNetwork))
    #expect(try file.add(office, to: "home") && !file.text.contains("no network yet"))
  }

  @Test(
    "a text that cannot be changed without a person is refused, and stays",
    arguments: [
      "{ version: 1, networks: { home: { ssid: Home } } }",
      "version: 1\nnetworks: { home: { ssid: Home }, work: { ssid: Work } }\n",
      #"{ "version": 1, "networks": { "home": { "ssid": "Home" } } }"#,
      "version: 1\r\nnetworks:\r\n  home: { ssid: Home }\r\n",
      "version: 1\nnetworks: {}\n", "no: [yaml\n", "",
    ])
  func refuses(text: String) {
    var file = NetworkText(path: "/p/10-a.yaml", text: text)
    #expect(throws: TextChangeFailure.self) { try file.add(office, to: "home") }
    #expect(file.text == text)
  }

  @Test("a network of any name, and any SSID, survives the text", arguments: ["home", "my office", "a: b", "no", "#1", "Büro"])
  func names(name: String) throws {
    var file = NetworkText.fresh(path: "/p/n.yaml", network: name)
    let strange = [SSID("a, b }: #\""), SSID(bytes: [0xff, 0x00, 0x23])].compactMap(\.self)
    #expect(try file.add(.all([.ssid(strange)]), to: name))
    let network = try #require(file.networks.first)
    #expect(network.name == name && NetworkDefinition(network).alternatives == [.all([.ssid(strange)])], "\(file.text)")
  }
}
