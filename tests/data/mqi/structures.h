/* Declarations of the MQI call structures for 64-bit Linux, written from IBM's documentation pages of each structure,
 * apart from mqwire's tables: test_mqi_layouts.py has a C compiler say where the fields are and compares. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
typedef int32_t MQLONG;
typedef int64_t MQHMSG;
typedef void *MQPTR;
typedef char MQCHAR;
typedef unsigned char MQBYTE;

typedef struct { MQPTR VSPtr; MQLONG VSOffset; MQLONG VSBufSize; MQLONG VSLength; MQLONG VSCCSID; } MQCHARV;
typedef struct { MQCHAR StrucId[4]; MQLONG Version, Options; } MQBO, MQCMHO, MQDMHO, MQDMPO;
typedef struct { MQCHAR StrucId[4]; MQLONG Version, Options, NumPubs; } MQSRO;
typedef struct { MQCHAR StrucId[4]; MQLONG Version, Options, ValueEncoding, ValueCCSID; } MQSMPO;
typedef struct { MQCHAR StrucId[4]; MQLONG Version, Options, Support, Context, CopyOptions; } MQPD;
typedef struct { MQCHAR StrucId[4]; MQLONG Version, ApplType, Timeout, BalanceOptions; } MQBNO;
typedef struct {
  MQCHAR StrucId[4]; MQLONG Version, Options, RequestedEncoding, RequestedCCSID, ReturnedEncoding, ReturnedCCSID;
  MQLONG Reserved1; MQCHARV ReturnedName; MQCHAR TypeString[8];
} MQIMPO;
typedef struct {
  MQCHAR StrucId[4]; MQLONG Version, Report, MsgType, Expiry, Feedback, Encoding, CodedCharSetId; MQCHAR Format[8];
  MQLONG Priority, Persistence; MQBYTE MsgId[24], CorrelId[24]; MQLONG BackoutCount;
  MQCHAR ReplyToQ[48], ReplyToQMgr[48], UserIdentifier[12]; MQBYTE AccountingToken[32]; MQCHAR ApplIdentityData[32];
  MQLONG PutApplType; MQCHAR PutApplName[28], PutDate[8], PutTime[8], ApplOriginData[4]; MQBYTE GroupId[24];
  MQLONG MsgSeqNumber, Offset, MsgFlags, OriginalLength;
} MQMD;
typedef struct {
  MQCHAR StrucId[4]; MQLONG Version, Options, WaitInterval, Signal1, Signal2; MQCHAR ResolvedQName[48];
  MQLONG MatchOptions; MQCHAR GroupStatus, SegmentStatus, Segmentation, Reserved1; MQBYTE MsgToken[16];
  MQLONG ReturnedLength, Reserved2; MQHMSG MsgHandle;
} MQGMO;
typedef struct {
  MQCHAR StrucId[4]; MQLONG Version, Options, Timeout, Context, KnownDestCount, UnknownDestCount, InvalidDestCount;
  MQCHAR ResolvedQName[48], ResolvedQMgrName[48]; MQLONG RecsPresent, PutMsgRecFields, PutMsgRecOffset;
  MQLONG ResponseRecOffset; MQPTR PutMsgRecPtr, ResponseRecPtr; MQHMSG OriginalMsgHandle, NewMsgHandle;
  MQLONG Action, PubLevel;
} MQPMO;
typedef struct {
  MQCHAR StrucId[4]; MQLONG Version, ObjectType; MQCHAR ObjectName[48], ObjectQMgrName[48], DynamicQName[48];
  MQCHAR AlternateUserId[12]; MQLONG RecsPresent, KnownDestCount, UnknownDestCount, InvalidDestCount, ObjectRecOffset;
  MQLONG ResponseRecOffset; MQPTR ObjectRecPtr, ResponseRecPtr; MQBYTE AlternateSecurityId[40];
  MQCHAR ResolvedQName[48], ResolvedQMgrName[48]; MQCHARV ObjectString, SelectionString, ResObjectString;
  MQLONG ResolvedType;
} MQOD;
typedef struct {
  MQCHAR StrucId[4]; MQLONG Version, Options; MQCHAR ObjectName[48], AlternateUserId[12];
  MQBYTE AlternateSecurityId[40]; MQLONG SubExpiry; MQCHARV ObjectString, SubName, SubUserData; MQBYTE SubCorrelId[24];
  MQLONG PubPriority; MQBYTE PubAccountingToken[32]; MQCHAR PubApplIdentityData[32]; MQCHARV SelectionString;
  MQLONG SubLevel; MQCHARV ResObjectString;
} MQSD;
typedef struct {
  MQCHAR StrucId[4]; MQLONG Version, AuthenticationType; MQBYTE Reserved1[4]; MQPTR CSPUserIdPtr;
  MQLONG CSPUserIdOffset, CSPUserIdLength; MQBYTE Reserved2[8]; MQPTR CSPPasswordPtr; MQLONG CSPPasswordOffset;
  MQLONG CSPPasswordLength; MQBYTE Reserved3[8]; MQPTR InitialKeyPtr; MQLONG InitialKeyOffset, InitialKeyLength;
  MQBYTE Reserved4[8]; MQPTR TokenPtr; MQLONG TokenOffset, TokenLength;
} MQCSP;
typedef struct {
  MQCHAR StrucId[4]; MQLONG Version, Options, ClientConnOffset; MQPTR ClientConnPtr; MQBYTE ConnTag[128];
  MQPTR SSLConfigPtr; MQLONG SSLConfigOffset; MQBYTE ConnectionId[24]; MQLONG SecurityParmsOffset;
  MQPTR SecurityParmsPtr, CCDTUrlPtr; MQLONG CCDTUrlOffset, CCDTUrlLength; MQBYTE Reserved[8]; MQCHAR ApplName[28];
  MQBYTE Reserved2[4]; MQPTR BalanceParmsPtr; MQLONG BalanceParmsOffset; MQBYTE Reserved3[4];
} MQCNO;
typedef struct {
  MQCHAR StrucId[4]; MQLONG Version, CompCode, Reason, PutSuccessCount, PutWarningCount, PutFailureCount, ObjectType;
  MQCHAR ObjectName[48], ObjectQMgrName[48], ResolvedObjectName[48], ResolvedQMgrName[48];
  MQCHARV ObjectString, SubName; MQLONG OpenOptions, SubOptions;
} MQSTS;
typedef struct {
  MQCHAR StrucId[4]; MQLONG Version, CallbackType, Options; MQPTR CallbackArea, CallbackFunction;
  MQCHAR CallbackName[128]; MQLONG MaxMsgLength;
} MQCBD;
typedef struct {
  MQCHAR StrucId[4]; MQLONG Version, CallType, Hobj; MQPTR CallbackArea, ConnectionArea; MQLONG CompCode, Reason, State;
  MQLONG DataLength, BufferLength, Flags, ReconnectDelay;
} MQCBC;
typedef struct { MQCHAR StrucId[4]; MQLONG Version, Options, Reserved; MQPTR ConnectionArea; } MQCTLO;
typedef struct {
  MQCHAR StrucId[4]; MQLONG Version; MQCHAR KeyRepository[256], CryptoHardware[256]; MQLONG AuthInfoRecCount;
  MQLONG AuthInfoRecOffset; MQPTR AuthInfoRecPtr; MQLONG KeyResetCount, FipsRequired, EncryptionPolicySuiteB;
  MQLONG EncryptionPolicySuiteB2, EncryptionPolicySuiteB3, EncryptionPolicySuiteB4, CertificateValPolicy;
  MQCHAR CertificateLabel[64];
} MQSCO;
typedef struct {
  MQCHAR ChannelName[20]; MQLONG Version, ChannelType, TransportType; MQCHAR Desc[64], QMgrName[48], XmitQName[48];
  MQCHAR ShortConnectionName[20], MCAName[20], ModeName[8], TpName[64]; MQLONG BatchSize, DiscInterval;
  MQLONG ShortRetryCount, ShortRetryInterval, LongRetryCount, LongRetryInterval;
  MQCHAR SecurityExit[128], MsgExit[128], SendExit[128], ReceiveExit[128]; MQLONG SeqNumberWrap, MaxMsgLength;
  MQLONG PutAuthority, DataConversion; MQCHAR SecurityUserData[32], MsgUserData[32], SendUserData[32];
  MQCHAR ReceiveUserData[32], UserIdentifier[12], Password[12], MCAUserIdentifier[12]; MQLONG MCAType;
  MQCHAR ConnectionName[264], RemoteUserIdentifier[12], RemotePassword[12], MsgRetryExit[128], MsgRetryUserData[32];
  MQLONG MsgRetryCount, MsgRetryInterval, HeartbeatInterval, BatchInterval, NonPersistentMsgSpeed, StrucLength;
  MQLONG ExitNameLength, ExitDataLength, MsgExitsDefined, SendExitsDefined, ReceiveExitsDefined;
  MQPTR MsgExitPtr, MsgUserDataPtr, SendExitPtr, SendUserDataPtr, ReceiveExitPtr, ReceiveUserDataPtr, ClusterPtr;
  MQLONG ClustersDefined, NetworkPriority, LongMCAUserIdLength, LongRemoteUserIdLength;
  MQPTR LongMCAUserIdPtr, LongRemoteUserIdPtr; MQBYTE MCASecurityId[40], RemoteSecurityId[40];
  MQCHAR SSLCipherSpec[32]; MQPTR SSLPeerNamePtr; MQLONG SSLPeerNameLength, SSLClientAuth, KeepAliveInterval;
  MQCHAR LocalAddress[48]; MQLONG BatchHeartbeat, HdrCompList[2], MsgCompList[16], CLWLChannelRank;
  MQLONG CLWLChannelPriority, CLWLChannelWeight, ChannelMonitoring, ChannelStatistics, SharingConversations;
  MQLONG PropertyControl, MaxInstances, MaxInstancesPerClient, ClientChannelWeight, ConnectionAffinity;
  MQLONG BatchDataLimit, UseDLQ, DefReconnect; MQCHAR CertificateLabel[64]; MQLONG SPLProtection;
} MQCD;
