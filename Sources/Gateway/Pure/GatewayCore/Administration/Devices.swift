package import KernelModel
import NetworkTypes

// Devices and their addresses.
extension Administration {
  /// The side that adds a device.
  package enum DeviceAdder: Hashable, Sendable {
    /// The user, by a login or the page: up to the limit of devices.
    case user
    case administrator
  }

  /// Adds a device with an address of every pool. Returns it. Every device comes into being here.
  @discardableResult
  package mutating func addDevice(
    _ path: DevicePath, publicKey: WireGuardKey, by adder: DeviceAdder = .user
  ) throws(GatewayError) -> Device {
    let user = try user(path.user)
    if directory.device(at: path) != nil {
      throw GatewayError("there is a device \(path) already", help: "choose another name, or remove it first")
    }
    if adder == .user { try DeviceCheck(directory).limit(of: user) }
    try DeviceCheck(directory).key(publicKey)
    let before = self
    let device = Device(id: newID(), user: user.id, name: path.device, publicKey: publicKey, added: now)
    put(.device(device))
    do throws(GatewayError) {
      for pool in directory.allPools { try grant(pool, to: device) }
    } catch {
      self = before
      throw error
    }
    record("device add", path, directory.leases(of: device.id).map(\.address.description).joined(separator: ", "))
    return device
  }

  /// Gives the device another key. Its addresses stay.
  package mutating func setKey(_ publicKey: WireGuardKey, of path: DevicePath) throws(GatewayError) {
    var device = try device(path)
    if device.publicKey == publicKey { return }
    try DeviceCheck(directory).key(publicKey)
    device.publicKey = publicKey
    put(.device(device))
    // Nobody has logged in with this key.
    if let login = directory.login(of: device.id) { remove(.logins, login.id) }
    record("device rekey", path)
  }

  package mutating func rename(_ path: DevicePath, to name: GatewayName) throws(GatewayError) {
    var device = try device(path)
    let new = DevicePath(user: path.user, device: name)
    if new == path { return }
    if directory.device(at: new) != nil { throw GatewayError("there is a device \(new) already", help: "choose another name") }
    device.name = name
    put(.device(device))
    for var lease in directory.leases(of: device.id) {
      lease.holder = new
      put(.lease(lease))
    }
    record("device rename", path, "to \(new)")
  }

  /// Removes the device. Its addresses are held for it while others are free.
  package mutating func removeDevice(_ path: DevicePath) throws(GatewayError) {
    let device = try device(path)
    drop(device, of: try user(path.user))
    record("device remove", path)
  }

  mutating func drop(_ device: Device, of user: User) {
    for var lease in directory.leases(of: device.id) {
      lease.device = nil
      lease.heldSince = now
      put(.lease(lease))
    }
    removeSettings(for: .device(device.id))
    if let login = directory.login(of: device.id) { remove(.logins, login.id) }
    remove(.devices, device.id)
  }

  /// Gives the device an address of the pool: the one that it had under this name, else the lowest one that no device has had, else the one
  /// that is held for the longest time. It fails only if devices have all of them.
  mutating func grant(_ pool: Pool, to device: Device) throws(GatewayError) {
    directory.requireAll()
    guard let holder = directory.path(of: device) else { return }
    // Of many thousands, few: no copy is made of the others.
    func freed(_ lease: Lease) -> Timestamp { lease.heldSince ?? Timestamp(seconds: 0) }
    let free = Array(directory.leases.values.lazy.filter { $0.device == nil && $0.pool == pool.id })
    if let own = free.filter({ $0.holder == holder }).max(by: { (freed($0), $1.id) < (freed($1), $0.id) }) {
      return renew(own, device, holder)
    }
    if let place = pool.places.first(where: { directory.lease(of: pool.address(at: $0)) == nil }) {
      put(
        .lease(Lease(id: newID(), pool: pool.id, address: pool.address(at: place), device: device.id, holder: holder)))
      return
    }
    guard let oldest = free.min(by: { (freed($0), $0.address) < (freed($1), $1.address) }) else {
      throw GatewayError(
        "pool \(pool.name) (\(pool.prefix)) is full: devices have all addresses",
        help: "`roamward-gateway device remove USER/NAME` frees the addresses of a device; a larger pool can replace this one")
    }
    renew(oldest, device, holder)
  }

  private mutating func renew(_ lease: Lease, _ device: Device, _ holder: DevicePath) {
    var lease = lease
    lease.device = device.id
    lease.holder = holder
    lease.heldSince = nil
    put(.lease(lease))
  }
}

/// The reasons why a device cannot be added.
private struct DeviceCheck {
  private let directory: Directory

  init(_ directory: Directory) { self.directory = directory }

  /// Throws if the user adds no other device.
  func limit(of user: User) throws(GatewayError) {
    let (count, limit) = (directory.devices(of: user.id).count, directory.deviceLimit(of: user.id))
    guard count >= limit else { return }
    throw GatewayError(
      "\(user.name) has \(count) device\(count == 1 ? "" : "s"), and adds no other: the limit is \(limit)",
      help: "remove one by the page or `roamward-gateway device remove \(user.name)/NAME`; an administrator changes the limit with "
        + "`roamward-gateway set settings.users.\(user.name).devices N`", kind: .deviceLimit)
  }

  /// Throws if the key is that of another device, or of a gateway.
  func key(_ key: WireGuardKey) throws(GatewayError) {
    directory.requireAll()
    if let other = directory.device(of: key), let path = directory.path(of: other) {
      throw GatewayError("this public key belongs to \(path)", help: "every device needs a key of its own")
    }
    if directory.sites.values.contains(where: { $0.publicKey == key }) {
      throw GatewayError("this public key is a gateway's own", help: "use the public key of the device")
    }
  }
}
