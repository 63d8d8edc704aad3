package import NetworkTypes

// The lines of lists on the command line: one for each object, sorted by name.
extension Directory {
  /// `alice  locked  groups staff  devices laptop, phone`.
  package func userList(at now: Timestamp) -> [String] {
    users.values.sorted { $0.name < $1.name }.map { line(of: $0, at: now) }
  }

  private func line(of user: User, at now: Timestamp) -> String {
    let until = user.until.map { "  until \($0)" } ?? ""
    return "\(user.name)  \(user.state(at: now))\(until)\(Self.list("groups", groups(of: user.id).map(\.name)))"
      + Self.list("devices", devices(of: user.id).map(\.name))
  }

  /// `staff  precedence 100  users alice, bob`.
  package var groupList: [String] {
    groups.values.sorted { ($0.precedence, $0.name) < ($1.precedence, $1.name) }.map { group in
      let names = members.values.filter { $0.group == group.id }.compactMap { users[$0.user]?.name }.sorted()
      return "\(group.name)  precedence \(group.precedence)\(Self.list("users", names))"
    }
  }

  /// `lan  10.77.0.0/24  masquerade  3 leased, 1 held, 249 free`.
  package var poolList: [String] {
    allPools.map { pool in
      let usage = usage(of: pool)
      let shown = usage.free.map { "\($0)" } ?? "all others"
      let place = sites.count > 1 ? "  at \(pool.site.flatMap { sites[$0]?.name.description } ?? "all gateways")" : ""
      return
        "\(pool.name)  \(pool.prefix)\(place)\(pool.isTranslated ? "  masquerade" : "")  \(usage.leased) leased, \(usage.held) held, \(shown) free"
    }
  }

  /// The addresses of a pool. `held`: for devices that were removed, until no other one is free. `free`: `nil`: more than can be counted.
  package func usage(of pool: Pool) -> (leased: Int64, held: Int64, free: Int64?) {
    let own = leases.values.filter { $0.pool == pool.id }
    let leased = own.count { $0.device != nil }
    let held = own.count - leased
    let (capacity, used) = (pool.places.upperBound - pool.places.lowerBound, UInt64(leased + held))
    // One place more than that difference.
    let free = used > capacity ? 0 : Int64(exactly: capacity - used).flatMap { $0 < .max ? $0 + 1 : nil }
    return (Int64(leased), Int64(held), free)
  }

  /// `alice/laptop  10.77.0.2, fd77::2`.
  package func deviceList(at now: Timestamp) -> [String] {
    devices.values.compactMap { device in path(of: device).map { ($0, device) } }.sorted { $0.0 < $1.0 }.map { path, device in
      "\(path)  \(addresses(of: device.id).map(\.description).joined(separator: ", "))"
        + (isActive(device, at: now) ? "" : hasEnded(device) ? "  session ended" : "  refused")
    }
  }

  /// `* paris  vpn.example.com:51820  10.77.0.0/24`: this gateway has the star.
  package var siteList: [String] {
    let own = site?.id
    return sortedSites.map { site in
      let relay = site.offer.relayPort.map { "  relay TCP port \($0)" } ?? ""
      let prefixes = pools(at: site).map(\.prefix.description)
      return
        "\(site.id == own ? "*" : " ") \(site.name)  \(site.endpoint)  \(prefixes.isEmpty ? "no pool" : prefixes.joined(separator: ", "))"
        + relay
    }
  }

  private static func list(_ title: String, _ values: [GatewayName]) -> String {
    values.isEmpty ? "" : "  \(title) \(values.map(\.description).joined(separator: ", "))"
  }
}

extension Directory {
  /// `7  alice  1 use  until 2026-12-31T00:00:00.000Z`.
  package func tokenList(at now: Timestamp) -> [String] {
    tokens.values.sorted { $0.id < $1.id }.map { token in
      let end = token.isValid(at: now) ? "until \(token.until)" : "expired"
      return "\(token.id)  \(users[token.user]?.name.description ?? "?")  \(token.uses) use\(token.uses == 1 ? "" : "s")  \(end)"
    }
  }
}
