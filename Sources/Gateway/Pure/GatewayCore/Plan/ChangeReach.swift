package import KernelModel
package import NetworkTypes

/// The part of the kernel's state that changes of rows can affect. A gateway compares no more than that.
package enum ChangeReach: Equatable, Sendable {
  /// The peers and addresses of these devices, present or removed; none: the kernel's state is the same.
  case devices(Set<Int64>)
  case everything

  /// As far as a directory shows it: the one before the changes, or the one after them.
  package init(of changes: [RowChange], in directory: Directory) {
    var devices: Set<Int64> = []
    for change in changes {
      var rows = [directory.row(change.kind, change.id)]
      if case .put(let row) = change { rows.append(row) }
      for row in rows.compactMap({ $0 }) {
        switch row {
        case .site, .pool, .rule:
          self = .everything
          return
        // The link has the MTU of everybody.
        case .settings(let settings) where settings.scope == .everybody:
          self = .everything
          return
        case .device(let device): devices.insert(device.id)
        case .user(let user): devices.formUnion(directory.devices(of: user.id).map(\.id))
        case .member(let member): devices.formUnion(directory.devices(of: member.user).map(\.id))
        case .lease(let lease): if let device = lease.device { devices.insert(device) }
        // A session that was ended, or began again.
        case .login(let login): devices.insert(login.device)
        // A group is in the kernel by its members and rules.
        case .settings, .group, .credential, .token, .declaration: break
        }
      }
    }
    self = .devices(devices)
  }

  /// Of the same changes: the devices whose pushed settings may differ.
  package init(ofSettings changes: [RowChange], in directory: Directory) {
    var devices: Set<Int64> = []
    for change in changes {
      var rows = [directory.row(change.kind, change.id)]
      if case .put(let row) = change { rows.append(row) }
      for row in rows.compactMap({ $0 }) {
        switch row {
        case .site, .pool:
          self = .everything
          return
        case .settings(let settings):
          switch settings.scope {
          case .everybody:
            self = .everything
            return
          case .group(let group): devices.formUnion(directory.devices(ofGroup: group))
          case .user(let user): devices.formUnion(directory.devices(of: user).map(\.id))
          case .device(let device): devices.insert(device)
          }
        // Its precedence decides between the settings of two groups.
        case .group(let group): devices.formUnion(directory.devices(ofGroup: group.id))
        case .member(let member): devices.formUnion(directory.devices(of: member.user).map(\.id))
        case .device(let device): devices.insert(device.id)
        case .lease(let lease): if let device = lease.device { devices.insert(device) }
        case .user, .rule, .credential, .token, .login, .declaration: break
        }
      }
    }
    self = .devices(devices)
  }

  package func union(_ other: ChangeReach) -> ChangeReach {
    guard case .devices(let mine) = self, case .devices(let others) = other else { return .everything }
    return .devices(mine.union(others))
  }
}

/// The part of the desired state that some devices make: entries of the firewall table, and peers.
package struct DevicePart: Equatable, Sendable {
  package var table: GatewayTable
  package var peers: [WireGuardPeer]

  package init(_ directory: Directory, _ devices: Set<Int64>, link: String, at now: Timestamp) {
    let present = devices.sorted().compactMap { directory.devices[$0] }
    table = GatewayTable(directory, of: present, link: link, at: now)
    peers = directory.peers(of: present, at: now)
  }
}

extension Directory {
  /// The peers of those devices that may connect.
  func peers(of devices: some Sequence<Device>, at now: Timestamp) -> [WireGuardPeer] {
    devices.filter { isActive($0, at: now) }.map { device in
      WireGuardPeer(publicKey: device.publicKey, allowedIPs: addresses(of: device.id).map { .host($0) })
    }
  }

  /// The devices of a group's users.
  fileprivate func devices(ofGroup group: Int64) -> [Int64] {
    members.values.filter { $0.group == group }.flatMap { devices(of: $0.user).map(\.id) }
  }

  package func row(_ kind: RowKind, _ id: Int64) -> AnyRow? {
    switch kind {
    case .site: sites[id].map { .site($0) }
    case .users: users[id].map { .user($0) }
    case .groups: groups[id].map { .group($0) }
    case .members: members[id].map { .member($0) }
    case .devices: devices[id].map { .device($0) }
    case .pools: pools[id].map { .pool($0) }
    case .leases: leases[id].map { .lease($0) }
    case .settings: settings[id].map { .settings($0) }
    case .rules: rules[id].map { .rule($0) }
    case .credentials: credentials[id].map { .credential($0) }
    case .tokens: tokens[id].map { .token($0) }
    case .logins: logins[id].map { .login($0) }
    case .declarations: marks.rows[id].map { .declaration($0) }
    }
  }
}
