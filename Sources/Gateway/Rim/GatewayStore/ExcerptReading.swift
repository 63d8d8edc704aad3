import GatewayCore
import NetworkTypes

extension GatewayStore {
  /// The rows of `Excerpt.users`: a few queries by indexes, whatever else is in the store.
  func excerpt(of names: [GatewayName], _ addresses: [IPAddress]) throws(StoreError) -> Directory {
    var directory = Directory(isWhole: false, viewpoint: viewpoint)
    func add(_ rows: [AnyRow]) { for row in rows { directory.apply(.put(row)) } }
    for kind in [RowKind.site, .groups, .pools, .rules, .declarations] { add(try rows(kind)) }
    add(try rows(.users, "id IN (SELECT source_id FROM access_rules WHERE source = 'user')"))
    add(try rows(.settings, "scope IN ('all', 'group')"))
    var users: [Int64] = []
    for name in names {
      let found = try rows(.users, "name = $1", [.text(name.description)])
      add(found)
      users += found.map(\.id)
    }
    for address in addresses {
      add(try rows(.leases, "address = $1", [.bytes(address.bytes)]))
      guard let device = directory.lease(of: address)?.device else { continue }
      let owners = try rows(.users, "id IN (SELECT user_id FROM devices WHERE id = $1)", [.integer(device)])
      add(owners)
      users += owners.map(\.id)
    }
    for user in Set(users).sorted() {
      for kind in [RowKind.members, .devices, .credentials, .tokens] { add(try rows(kind, "user_id = $1", [.integer(user)])) }
      add(try rows(.settings, "scope = 'user' AND scope_id = $1", [.integer(user)]))
      for device in directory.devices(of: user) {
        for kind in [RowKind.leases, .logins] { add(try rows(kind, "device_id = $1", [.integer(device.id)])) }
        add(try rows(.settings, "scope = 'device' AND scope_id = $1", [.integer(device.id)]))
      }
    }
    return directory
  }
}
