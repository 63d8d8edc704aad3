package import NetworkTypes

// Addresses and gateways of a link.

private let addresses = FactDeclaration(
  known: "addresses", ofLink: \.addresses, .list(.interfaceAddress), silence: .means(.list([])), space: .addresses,
  "The link's own addresses.", example: "[192.0.2.23/24]")

private let gateways = FactDeclaration(
  known: "gateways", ofLink: \.gateways, .list(.address), silence: .means(.list([])), space: .addresses, "Default gateways, best first.",
  example: "[192.0.2.1]")

private let gatewayMAC = FactDeclaration(
  .gatewayMAC, ofLink: \.gatewayMAC, .optional(.text(.hardwareAddress, { MACAddress($0) }, \.description)), silence: .means(.absent),
  space: .hardwareAddresses, proof: .hardToForge, "The first gateway's link-layer address.", example: "02:00:5e:00:00:01"
) { facts, link, _ in facts.hardwareAddress(of: link.gateways.first, on: link.link) }

let addressFacts = [addresses, gateways, gatewayMAC]

// MARK: Keys of a match

extension FactTable {
  static let subnet = CriterionKey<[IPPrefix]>(
    "subnet", kind: nil, fact: addresses.key, aliases: ["address"], "An address of the link is in this prefix.", example: "192.168.7.0/24",
    reading: .list(.prefix) { $0.compactMap { IPPrefix($0) } }, write: { .list($0.map(\.description)) },
    constants: { $0.map { .prefix($0) } },
    marks: Marking(
      wanted: { $0.marks { Marks($0) } }, found: { $0.link.addresses.marks { Marks(ofPrefixesFor: $0.address) } }),
    holds: { prefixes in { context in Truth(context.link.addresses.contains { own in prefixes.contains { $0.contains(own.address) } }) } },
    found: { context, prefixes, holds in
      let own = context.link.addresses.map(\.address).filter { holds == .yes || !$0.isLinkLocal }
      return own.isEmpty
        ? "no address is in \(list(prefixes))" : "address \(list(own)) is \(holds == .yes ? "" : "not ")in \(list(prefixes))"
    })

  static let gateway = CriterionKey<[IPAddress]>(
    "gateway", kind: nil, fact: gateways.key, "The default gateway.", example: "192.168.7.1",
    reading: .list(.gatewayAddress) { $0.compactMap { IPAddress($0) } }, write: { .list($0.map(\.description)) },
    constants: { $0.map { .address($0) } },
    marks: Marking(wanted: { $0.marks { Marks($0) } }, found: { $0.link.gateways.marks { Marks($0) } }),
    holds: { wanted in { context in Truth(context.link.gateways.contains { wanted.contains($0) }) } },
    found: { context, wanted, holds in
      let found = context.link.gateways
      return found.isEmpty ? "no gateway" : "gateway \(list(found)) \(relation(holds, to: wanted.map(\.description)))"
    })

  static let gatewayMAC = CriterionKey<[MACAddress]>(
    oneOf: "gateway-mac", RoamwardCore.gatewayMAC, "The default gateway's link-layer address.", example: "02:00:5e:10:00:01",
    form: .hardwareAddress, parse: { MACAddress($0) }, print: \.description, constant: { .hardwareAddress($0) },
    mark: { Marks($0) }, marks: { Marks($0) }, matches: { $0.contains($1) }, of: { $0.link.gatewayMAC }, text: \.description)
}

let addressKeys: [any AnyCriterionKey] = [FactTable.subnet, FactTable.gateway, FactTable.gatewayMAC]

extension Condition {
  /// The primary link has an address in one of these prefixes.
  package static func subnet(_ prefixes: [IPPrefix]) -> Condition { FactTable.subnet(prefixes) }
  /// A default gateway of the primary link has one of these addresses.
  package static func gateway(_ addresses: [IPAddress]) -> Condition { FactTable.gateway(addresses) }
  /// A default gateway of the primary link has one of these hardware addresses.
  package static func gatewayMAC(_ addresses: [MACAddress]) -> Condition { FactTable.gatewayMAC(addresses) }
}
