/// The permission to seal some messages in a session: a block of its counters, which no other ticket has. It is valid in the `SendBatch` in
/// which it was drawn. Counters that are left over are never used.
package struct SendTicket {
  /// The destination of the sealed records.
  package let endpoint: DatagramAddress
  let sendState: UnsafeMutablePointer<SendState>
  private let key: UnsafeRawPointer
  private let remoteIndex: UInt32
  private var counter: UInt64
  private let end: UInt64

  /// Call it from the sending section. The session has `count` counters left.
  @inline(__always)
  init(
    _ count: Int, of session: UnsafeMutablePointer<SendingSession>, _ sendState: UnsafeMutablePointer<SendState>,
    to endpoint: DatagramAddress
  ) {
    self.endpoint = endpoint
    self.sendState = sendState
    key = session.pointee.key
    remoteIndex = session.pointee.remoteIndex
    counter = session.pointee.draw(count)
    end = counter &+ UInt64(truncatingIfNeeded: count)
  }

  /// Pads and seals with the next counter, as `SendBatch.seal`.
  @inline(__always)
  mutating func seal(_ count: Int, at payload: UnsafeMutableRawPointer, mtu: Int) -> Int {
    precondition(counter < end)
    // Padding hides the length to some degree, but must not make a packet longer than the MTU.
    let rounded = (count + ProtocolConstants.paddingMultiple - 1) & ~(ProtocolConstants.paddingMultiple - 1)
    let padded = mtu > 0 ? max(count, min(rounded, mtu)) : rounded
    if padded > count { (payload + count).initializeMemory(as: UInt8.self, repeating: 0, count: padded - count) }
    TransportCipher.seal(payload, count: padded, counter: counter, key: key)
    let header = payload - ProtocolConstants.transportHeader
    header.storeBytes(of: MessageType.transport.littleEndian, as: UInt32.self)
    header.storeBytes(of: remoteIndex.littleEndian, toByteOffset: TransportLayout.receiver, as: UInt32.self)
    header.storeBytes(of: counter.littleEndian, toByteOffset: TransportLayout.counter, as: UInt64.self)
    counter &+= 1
    return padded + ProtocolConstants.transportOverhead
  }
}
