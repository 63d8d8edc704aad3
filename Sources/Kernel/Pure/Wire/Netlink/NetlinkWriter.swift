package import KeyMemory
package import NetworkTypes

/// Writes netlink messages one after another into one growing buffer: a batch is a single send.
///
/// An attribute holds at most 65,531 bytes (its length is 16 bits wide); longer ones are cut there, so callers split before that.
package struct NetlinkWriter: Sendable {
  package private(set) var bytes: [UInt8] = []

  package init(reserving capacity: Int = 0) { bytes.reserveCapacity(capacity) }

  /// Removes the content and keeps the memory.
  package mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

  /// One message with the payload that `body` writes. `flags` are added to `NLM_F_REQUEST`.
  package mutating func message(_ type: UInt16, flags: UInt16, sequence: UInt32, _ body: (inout NetlinkWriter) -> Void) {
    let start = bytes.count
    host32(0)
    host16(type)
    host16(flags | NetlinkMessage.Flag.request)
    host32(sequence)
    host32(0)
    body(&self)
    patch32(at: start, UInt32(truncatingIfNeeded: bytes.count - start))
    pad()
  }

  /// A message of a generic netlink family (`struct genlmsghdr`).
  package mutating func genericMessage(
    family: UInt16, command: UInt8, version: UInt8, flags: UInt16, sequence: UInt32, _ body: (inout NetlinkWriter) -> Void
  ) {
    message(family, flags: flags, sequence: sequence) { writer in
      writer.raw([command, version, 0, 0])
      body(&writer)
    }
  }

  package mutating func attribute(_ type: UInt16, _ payload: some Collection<UInt8>) {
    host16(UInt16(clamping: 4 + payload.count))
    host16(type)
    bytes.append(contentsOf: payload.prefix(65_531))
    pad()
  }

  package mutating func attribute(_ type: UInt16, byte: UInt8) { attribute(type, CollectionOfOne(byte)) }

  package mutating func attribute(_ type: UInt16, host16 value: UInt16) {
    host16(6)
    host16(type)
    host16(value)
    pad()
  }

  package mutating func attribute(_ type: UInt16, host32 value: UInt32) {
    host16(8)
    host16(type)
    host32(value)
  }

  package mutating func attribute(_ type: UInt16, _ address: IPAddress) {
    host16(address.family == .v4 ? 8 : 20)
    host16(type)
    raw(address)
  }

  package mutating func attribute(_ type: UInt16, _ key: SecretKey) {
    host16(36)
    host16(type)
    key.append(to: &bytes)
  }

  /// A string with its closing NUL.
  package mutating func attribute(_ type: UInt16, text: String) { attribute(type, Array(text.utf8) + [0]) }

  /// An attribute of attributes, marked `NLA_F_NESTED` as newer families require.
  package mutating func nested(_ type: UInt16, _ body: (inout NetlinkWriter) -> Void) {
    let start = bytes.count
    host16(0)
    host16(type | 0x8000)
    body(&self)
    let length = UInt16(clamping: bytes.count - start).littleEndian
    bytes[start] = UInt8(truncatingIfNeeded: length)
    bytes[start + 1] = UInt8(truncatingIfNeeded: length >> 8)
  }

  mutating func raw(_ values: some Collection<UInt8>) { bytes.append(contentsOf: values) }

  mutating func raw(_ address: IPAddress) {
    if address.family == .v6 { network(address.high, count: 8) }
    network(address.low, count: address.family == .v4 ? 4 : 8)
  }

  mutating func host16(_ value: UInt16) {
    let value = value.littleEndian
    bytes.append(UInt8(truncatingIfNeeded: value))
    bytes.append(UInt8(truncatingIfNeeded: value >> 8))
  }

  mutating func host32(_ value: UInt32) {
    let value = value.littleEndian
    for shift: UInt32 in [0, 8, 16, 24] { bytes.append(UInt8(truncatingIfNeeded: value >> shift)) }
  }

  mutating func network(_ value: UInt64, count: Int) {
    for i in 1...count { bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(8 * (count - i)))) }
  }

  private mutating func patch32(at offset: Int, _ value: UInt32) {
    let value = value.littleEndian
    for i in 0..<4 { bytes[offset + i] = UInt8(truncatingIfNeeded: value >> UInt32(8 * i)) }
  }

  private mutating func pad() {
    while bytes.count & 3 != 0 { bytes.append(0) }
  }
}
