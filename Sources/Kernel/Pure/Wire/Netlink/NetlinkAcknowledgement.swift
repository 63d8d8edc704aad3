/// The kernel's result of a request: `NLMSG_ERROR`, or the `NLMSG_DONE` that ends a dump.
package struct NetlinkAcknowledgement: Equatable, Sendable {
  /// The sequence number of the request.
  package let sequence: UInt32
  /// 0 for success, else a positive `errno`.
  package let code: Int32
  /// The kernel's own text (`NLMSGERR_ATTR_MSG`, the extended acknowledgement).
  package let text: String?

  /// `nil` for any other message. One too short for a code counts as success, as at the end of old kernels' dumps.
  package init?(_ message: NetlinkMessage) {
    guard message.type == NetlinkMessage.doneType || message.type == NetlinkMessage.errorType else { return nil }
    let payload = message.payload
    var attributes = payload.dropFirst(4)
    if message.type == NetlinkMessage.errorType {
      // struct nlmsgerr: the code, then the request's header, or all of the request if it was not capped.
      let length = max(Int(attributes.host32() ?? 0), NetlinkMessage.headerSize)
      let isCapped = message.flags & NetlinkMessage.Flag.capped != 0
      attributes = attributes.dropFirst(isCapped ? NetlinkMessage.headerSize : netlinkAligned(length))
    }
    sequence = message.sequence
    let raw = Int32(bitPattern: payload.host32() ?? 0)
    code = raw >= 0 ? 0 : raw == .min ? .max : -raw
    let hasText = message.flags & NetlinkMessage.Flag.hasAttributes != 0
    text = hasText ? NetlinkAttributes(attributes).first(1)?.payload.text : nil
  }
}
