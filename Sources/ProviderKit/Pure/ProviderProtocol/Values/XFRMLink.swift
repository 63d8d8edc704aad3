/// The XFRM interface of a tunnel whose packets the kernel's IPsec encrypts.
public struct XFRMLink: Hashable, Sendable {
  /// The link's name.
  public var interface: String
  /// `XFRMA_IF_ID` of the states and policies that belong to it; positive.
  public var identifier: UInt32
  /// The firewall mark that encrypted packets need to stay outside (`XFRMA_SET_MARK`), and its mask.
  public var mark: UInt32
  public var mask: UInt32

  public init(interface: String, identifier: UInt32, mark: UInt32, mask: UInt32) {
    self.interface = interface
    self.identifier = identifier
    self.mark = mark
    self.mask = mask
  }
}
