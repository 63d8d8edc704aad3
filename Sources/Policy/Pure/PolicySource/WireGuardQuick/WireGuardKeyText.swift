package import KernelModel
import NetworkTypes

extension WireGuardKey {
  /// Parses 44 characters of standard base64. Anything else is `nil`, including other spellings of the same 32 bytes.
  package init?(base64 text: String) {
    guard text.utf8.count == 44, let bytes = NetworkTypes.bytes(fromBase64: text), NetworkTypes.base64(bytes) == text else { return nil }
    self.init(bytes: bytes)
  }
}
