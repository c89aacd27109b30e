export const webhookIdPrefix = 'whk_';
export const messageIdPrefix = 'msg_';
export const deliveryIdPrefix = 'dlv_';
