/// The ten bytes before every packet of a TUN device with IFF_VNET_HDR: `struct virtio_net_hdr` (virtio 1.2, section 5.1.6), in the
/// machine's byte order.
struct VirtioHeader: BitwiseCopyable {
  static let size = 10

  enum Segmentation {
    static let none: UInt8 = 0
    static let tcp4: UInt8 = 1
    static let tcp6: UInt8 = 4
    static let udp: UInt8 = 5
    /// A flag beside the others: the first segment reports congestion (CWR).
    static let ecn: UInt8 = 0x80
  }

  static let needsChecksum: UInt8 = 1

  var flags: UInt8 = 0
  /// One of `Segmentation`.
  var segmentation: UInt8 = 0
  var headerLength: UInt16 = 0
  /// Payload bytes in each segment.
  var segmentSize: UInt16 = 0
  /// The offset of the first byte that the checksum covers: the transport header.
  var checksumStart: UInt16 = 0
  /// The offset of the checksum field from there.
  var checksumOffset: UInt16 = 0

  init() {}

  @inline(__always)
  init(at bytes: UnsafeRawPointer) {
    flags = bytes.load(as: UInt8.self)
    segmentation = bytes.load(fromByteOffset: 1, as: UInt8.self)
    headerLength = bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self)
    segmentSize = bytes.loadUnaligned(fromByteOffset: 4, as: UInt16.self)
    checksumStart = bytes.loadUnaligned(fromByteOffset: 6, as: UInt16.self)
    checksumOffset = bytes.loadUnaligned(fromByteOffset: 8, as: UInt16.self)
  }

  @inline(__always)
  func store(at bytes: UnsafeMutableRawPointer) {
    bytes.storeBytes(of: flags, as: UInt8.self)
    bytes.storeBytes(of: segmentation, toByteOffset: 1, as: UInt8.self)
    bytes.storeBytes(of: headerLength, toByteOffset: 2, as: UInt16.self)
    bytes.storeBytes(of: segmentSize, toByteOffset: 4, as: UInt16.self)
    bytes.storeBytes(of: checksumStart, toByteOffset: 6, as: UInt16.self)
    bytes.storeBytes(of: checksumOffset, toByteOffset: 8, as: UInt16.self)
  }
}
