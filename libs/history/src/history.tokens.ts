/** Service token of the `HistoryStore` of this process, observed and with deadlines. */
export const HISTORY_STORE = 'smg:history-store';
