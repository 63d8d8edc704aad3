package import KernelModel
import NetworkTypes

extension WireGuardKey {
  /// 44 characters of standard base64; anything else is `nil`, other spellings of the same 32 bytes included.
  package init?(base64 text: String) {
    guard text.utf8.count == 44, let bytes = NetworkTypes.bytes(fromBase64: text), NetworkTypes.base64(bytes) == text else { return nil }
    self.init(bytes: bytes)
  }
}
