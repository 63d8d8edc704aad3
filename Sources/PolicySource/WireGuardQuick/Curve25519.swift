import CSodium
package import KernelModel
import RoamwardCore

extension WireGuardKey {
  /// 44 characters of standard base64; anything else is `nil`.
  package init?(base64 text: String) {
    guard text.utf8.count == 44 else { return nil }
    var bytes = [UInt8](repeating: 0, count: 32)
    var count = 0
    let status = text.withCString { sodium_base642bin(&bytes, bytes.count, $0, 44, nil, &count, nil, sodium_base64_VARIANT_ORIGINAL) }
    guard status == 0, count == 32 else { return nil }
    self.init(bytes: bytes)
  }
}
