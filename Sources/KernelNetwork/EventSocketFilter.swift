internal import CNetlink
internal import Glibc
import RoamwardCore
import Wire

extension NetlinkSocket {
  /// Lets the kernel itself drop what it announces about routes in foreign tables, so that a routing daemon that loads a hundred thousand
  /// of them neither wakes us nor fills the receive buffer. A kernel that refuses the filter costs time alone: `EventRelevance` judges too.
  func dropForeignRouteEvents() {
    var program = foreignRouteFilter
    let count = UInt16(program.count)
    program.withUnsafeMutableBufferPointer { instructions in
      var filter = sock_fprog(len: count, filter: instructions.baseAddress)
      _ = setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &filter, socklen_t(MemoryLayout<sock_fprog>.size))
    }
  }
}

/// A program of classic BPF (linux/filter.h). Its loads take numbers for big-endian, which netlink's are not on most machines.
private var foreignRouteFilter: [sock_filter] {
  let ours = Ownership.tables
  return [
    // The message's type; anything but RTM_NEWROUTE and RTM_DELROUTE passes.
    operation(BPF_LD | BPF_H | BPF_ABS, 4),
    jump(BPF_JEQ, UInt32(RouteMessage.new.bigEndian), yes: 1, no: 0),
    jump(BPF_JEQ, UInt32(RouteMessage.delete.bigEndian), yes: 0, no: Program.accept - 3),
    // The offset of RTA_TABLE among the attributes, which begin after nlmsghdr and rtmsg; 0 where there is none, then it passes.
    operation(BPF_LDX | BPF_IMM, 15),
    operation(BPF_LD | BPF_IMM, 28),
    operation(BPF_LD | BPF_W | BPF_ABS, UInt32(bitPattern: SKF_AD_OFF + SKF_AD_NLATTR)),
    jump(BPF_JEQ, 0, yes: Program.accept - 7, no: 0),
    operation(BPF_MISC | BPF_TAX, 0),
    // The table's upper half, which is 0 for ours and for the main one; then its lower half, put together from bytes.
    operation(BPF_LD | BPF_H | BPF_IND, Program.upperHalf),
    jump(BPF_JEQ, 0, yes: 0, no: Program.drop - 10),
    operation(BPF_LD | BPF_B | BPF_IND, Program.highByte),
    operation(BPF_ALU | BPF_LSH | BPF_K, 8),
    operation(BPF_ST, 0),
    operation(BPF_LD | BPF_B | BPF_IND, Program.lowByte),
    operation(BPF_LDX | BPF_MEM, 0),
    operation(BPF_ALU | BPF_ADD | BPF_X, 0),
    jump(BPF_JEQ, Route.mainTable, yes: Program.accept - 17, no: 0),
    jump(BPF_JGE, ours.lowerBound, yes: 0, no: Program.drop - 18),
    jump(BPF_JGT, ours.upperBound, yes: Program.drop - 19, no: Program.accept - 19),
    operation(BPF_RET | BPF_K, .max),
    operation(BPF_RET | BPF_K, 0),
  ]
}

/// Places of the last two instructions, and of the parts of a 32-bit number in an attribute (after its 4 bytes of header).
private enum Program {
  static let accept: UInt8 = 19
  static let drop: UInt8 = 20
  private static let isLittleEndian = UInt16(1).littleEndian == 1
  static let upperHalf: UInt32 = isLittleEndian ? 6 : 4
  static let highByte: UInt32 = isLittleEndian ? 5 : 6
  static let lowByte: UInt32 = isLittleEndian ? 4 : 7
}

private func operation(_ code: Int32, _ operand: UInt32) -> sock_filter {
  sock_filter(code: UInt16(truncatingIfNeeded: code), jt: 0, jf: 0, k: operand)
}

private func jump(_ comparison: Int32, _ operand: UInt32, yes: UInt8, no: UInt8) -> sock_filter {
  sock_filter(code: UInt16(truncatingIfNeeded: BPF_JMP | BPF_K | comparison), jt: yes, jf: no, k: operand)
}
