internal import CSodium
internal import KeyMemory
internal import LoginProtocol

/// A device's key of WireGuard (X25519), which it makes itself.
struct DeviceKey: Equatable {
  let secret: [UInt8]
  let publicKey: [UInt8]

  static func make() -> DeviceKey? {
    var (secret, publicKey) = ([UInt8](repeating: 0, count: 32), [UInt8](repeating: 0, count: 32))
    guard sodium_init() >= 0, crypto_box_keypair(&publicKey, &secret) == 0 else { return nil }
    return DeviceKey(secret: secret, publicKey: publicKey)
  }

  private init(secret: [UInt8], publicKey: [UInt8]) {
    self.secret = secret
    self.publicKey = publicKey
  }

  /// `nil` if this is no key.
  init?(secret: [UInt8]) {
    var publicKey = [UInt8](repeating: 0, count: 32)
    guard secret.count == 32, crypto_scalarmult_base(&publicKey, secret) == 0 else { return nil }
    self.init(secret: secret, publicKey: publicKey)
  }

  /// The seal of what the gateway of this key sends to this device.
  func seal(_ bytes: [UInt8], of gateway: [UInt8]) -> [UInt8]? { seal(bytes, of: gateway, SettingsPush.label) }

  /// The seal of what one of both sends to the other, under the key of this label.
  func seal(_ bytes: [UInt8], of gateway: [UInt8], _ label: ([UInt8], [UInt8]) -> [UInt8]) -> [UInt8]? {
    SecretKey(bytes: secret)?.seal(bytes, with: gateway, label: label(gateway, publicKey))
  }
}
