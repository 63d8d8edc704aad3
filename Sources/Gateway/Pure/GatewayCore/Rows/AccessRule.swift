package import NetworkTypes

/// One rule of access: the first one that matches a packet's user and destination decides; without one, the packet is denied.
package struct AccessRule: Row {
  package var id: Int64
  package var name: GatewayName
  /// Rules are evaluated by ascending position.
  package var position: Int64
  package var source: Source
  package var destination: Destination
  package var transport: Transport
  /// Destination ports; none: every port.
  package var ports: [PortRange]
  package var isAllowing: Bool

  package init(
    id: Int64, name: GatewayName, position: Int64, source: Source, destination: Destination, transport: Transport = .any,
    ports: [PortRange] = [], isAllowing: Bool
  ) {
    self.id = id
    self.name = name
    self.position = position
    self.source = source
    self.destination = destination
    self.transport = transport
    self.ports = ports
    self.isAllowing = isAllowing
  }

  /// The users whose devices the rule is about.
  package enum Source: Hashable, Sendable {
    case everybody
    case user(Int64)
    case group(Int64)
  }

  package enum Destination: Hashable, Sendable {
    case everything
    case prefixes([IPPrefix])
    /// The devices of a group's users, through this gateway.
    case devices(ofGroup: Int64)
  }

  package static let table = TableDeclaration(
    name: "access_rules",
    columns: ["name", "position", "source", "source_id", "prefixes", "group_id", "transport", "ports", "allows"])

  package var values: [SQLValue] {
    let (source, sourceID): (String, Int64) =
      switch self.source {
      case .everybody: ("all", 0)
      case .user(let id): ("user", id)
      case .group(let id): ("group", id)
      }
    let (prefixes, group): (SQLValue, Int64?) =
      switch destination {
      case .everything: (.text("all"), nil)
      case .prefixes(let prefixes): (SQLValue(list: prefixes), nil)
      case .devices(let group): (.text(""), group)
      }
    return [
      .text(name.description), .integer(position), .text(source), .integer(sourceID), prefixes, SQLValue(group),
      .text(transport.rawValue), SQLValue(list: ports), SQLValue(isAllowing),
    ]
  }

  package init(id: Int64, values: [SQLValue]) throws(RowError) {
    var row = RowReader(values)
    let name = row.parsed(GatewayName.self)
    let position = row.integer()
    let (source, sourceID) = (row.text(), row.integer())
    let prefixText = row.text()
    let group = row.optionalInteger()
    let transport = Transport(rawValue: row.text())
    let ports = row.list(PortRange.self)
    let isAllowing = row.flag()
    let prefixes = prefixText.split(separator: ",").map { IPPrefix(String($0)) }
    let from: Source? =
      switch source {
      case "all": .everybody
      case "user": .user(sourceID)
      case "group": .group(sourceID)
      default: nil
      }
    let to: Destination? =
      if let group {
        .devices(ofGroup: group)
      } else if prefixText == "all" {
        .everything
      } else if prefixes.isEmpty || prefixes.contains(where: { $0 == nil }) {
        nil
      } else {
        .prefixes(prefixes.compactMap { $0 })
      }
    guard row.isValid, let name, let from, let to, let transport else { throw RowError(table: Self.table.name, id: id) }
    self.init(
      id: id, name: name, position: position, source: from, destination: to, transport: transport, ports: ports, isAllowing: isAllowing)
  }
}
